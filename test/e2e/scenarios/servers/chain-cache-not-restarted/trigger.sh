. "$(dirname "$0")/../../lib.sh"
ready cache; ready
k create job backup-now --from=cronjob/backup
k wait pod/cache --for=jsonpath='{.status.phase}'=Succeeded --timeout=60s
said "session store"; sleep 6

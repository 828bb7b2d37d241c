. "$(dirname "$0")/../../lib.sh"
until k get pod etcd-0 >/dev/null 2>&1; do sleep 1; done
again etcd-0
said "waiting for etcd" subject wait-etcd; sleep 6

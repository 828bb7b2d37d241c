. "$(dirname "$0")/../../lib.sh"
said 'found multiple scrape configs' prometheus-server-0
said 'failed to query prometheus'; again prometheus-server-0; sleep 8

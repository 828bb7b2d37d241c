. "$(dirname "$0")/../../lib.sh"
ready store
said "waiting for job migrate" subject wait-for-migrate; sleep 12

. "$(dirname "$0")/../../lib.sh"
ready db
failed() { k get pods -l app=db-migrate -o jsonpath='{.items[*].status.phase}' | grep -q Failed; }
until_true failed
said "does not exist" subject wait-for-migrations; sleep 8

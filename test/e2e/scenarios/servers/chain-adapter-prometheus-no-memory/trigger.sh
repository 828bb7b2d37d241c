. "$(dirname "$0")/../../lib.sh"
said "unable to query"
sleep 15

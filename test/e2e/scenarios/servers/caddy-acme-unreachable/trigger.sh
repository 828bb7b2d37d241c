. "$(dirname "$0")/../../lib.sh"
said "could not get certificate"
sleep 4

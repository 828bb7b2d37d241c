. "$(dirname "$0")/../../lib.sh"
said "emerg"
sleep 18

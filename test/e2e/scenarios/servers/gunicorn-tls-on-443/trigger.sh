. "$(dirname "$0")/../../lib.sh"
said "Listening at"
said "Booting worker"
sleep 18

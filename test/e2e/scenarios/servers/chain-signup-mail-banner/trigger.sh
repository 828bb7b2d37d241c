. "$(dirname "$0")/../../lib.sh"
said "daemon started" mail
said "mail relay"
sleep 14

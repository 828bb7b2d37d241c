. "$(dirname "$0")/../../lib.sh"
again broker
said "mailer: broker:"; sleep 6

. "$(dirname "$0")/../../lib.sh"
again zk-0
said "no routes from"; sleep 12

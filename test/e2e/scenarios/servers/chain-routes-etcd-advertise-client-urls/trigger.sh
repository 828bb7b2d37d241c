. "$(dirname "$0")/../../lib.sh"
again etcd-0
said "routes cannot be read"; sleep 6

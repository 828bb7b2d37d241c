. "$(dirname "$0")/../../lib.sh"
again catalog-etcd-0
again catalog-0
sleep 5

. "$(dirname "$0")/../../lib.sh"
again apisix-etcd-0
again subject; sleep 3

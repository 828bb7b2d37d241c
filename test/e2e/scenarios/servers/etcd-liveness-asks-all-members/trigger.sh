. "$(dirname "$0")/../../lib.sh"
ready subject; ready etcd-1; ready etcd-2
k delete pod etcd-2 --wait=false
again subject; sleep 3

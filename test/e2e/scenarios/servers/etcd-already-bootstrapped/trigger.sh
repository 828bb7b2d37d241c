. "$(dirname "$0")/../../lib.sh"
ready; ready etcd-1; ready etcd-2
k delete pod subject --grace-period=2
k apply -f "$(dirname "$0")/manifest.yaml"
again subject; sleep 5

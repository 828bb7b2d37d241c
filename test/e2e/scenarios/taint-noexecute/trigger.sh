. "$(dirname "$0")/../lib.sh"
ready
kubectl taint nodes --all maintenance=now:NoExecute
k wait pod/subject --for=delete --timeout=200s

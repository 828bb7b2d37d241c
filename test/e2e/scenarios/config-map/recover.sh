. "$(dirname "$0")/../lib.sh"
k create configmap none --from-literal=nokey=a
ready

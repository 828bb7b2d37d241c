. "$(dirname "$0")/../lib.sh"
k create configmap nosuch --from-literal=a=b
ready

. "$(dirname "$0")/../lib.sh"
kubectl label nodes --all a=b
ready

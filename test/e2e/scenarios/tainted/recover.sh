. "$(dirname "$0")/../lib.sh"
kubectl taint nodes --all team-
ready

. "$(dirname "$0")/../lib.sh"
ready
ready neighbour
sleep 10
k exec neighbour -- touch /tmp/go

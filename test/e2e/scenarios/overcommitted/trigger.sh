. "$(dirname "$0")/../lib.sh"
ready
ready neighbour
k exec subject -- touch /tmp/go

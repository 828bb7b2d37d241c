. "$(dirname "$0")/../lib.sh"
k exec subject -- sh -c "echo ok > /w/live"
ready

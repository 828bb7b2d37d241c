. "$(dirname "$0")/../lib.sh"
ready
k exec subject -- rm /w/live

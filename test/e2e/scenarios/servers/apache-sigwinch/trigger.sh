. "$(dirname "$0")/../../lib.sh"
ready
# what the kernel sends to the foreground of a terminal whose window somebody resizes
k exec subject -- sh -c 'kill -WINCH 1'
again subject

. "$(dirname "$0")/../../lib.sh"
ready subject; sleep 4
k exec subject -- sh -c 'kill -9 $(busybox pidof lighttpd)'
sleep 15

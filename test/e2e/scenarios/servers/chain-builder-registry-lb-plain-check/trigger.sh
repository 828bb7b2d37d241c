. "$(dirname "$0")/../../lib.sh"
ready registry
ready registry-lb
said "has no server available" registry-lb
said "registry https://registry-lb:5443: " subject; sleep 10

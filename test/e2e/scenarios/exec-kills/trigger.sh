. "$(dirname "$0")/../lib.sh"
ready
# What ends takes the shell with it.
k exec subject -- sh -c 'sleep 2; kill -INT 1' || true

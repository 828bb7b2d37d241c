. "$(dirname "$0")/../../lib.sh"
ready
k exec subject -- sh -c ': >/data/zk/version-2/log.1f; kill 1' || true
while [ "$(restarts)" -lt 2 ]; do sleep 1; done
said EOFException; sleep 3

. "$(dirname "$0")/../../lib.sh"
again_init() { [ "$(k get pod cache -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ] 2>/dev/null; }
until_true again_init
said "session store"; sleep 8

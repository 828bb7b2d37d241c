. "$(dirname "$0")/../../lib.sh"
k wait pod -l app=shop --for=condition=ContainersReady --timeout=150s
said '"status":502'; sleep 6

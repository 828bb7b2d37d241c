. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/subject --timeout=220s
k delete pod subject-0
until k get pod subject-0 >/dev/null 2>&1; do sleep 1; done
again subject-0; sleep 3

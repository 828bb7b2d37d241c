. "$(dirname "$0")/../lib.sh"
k scale deployment subject --replicas=1
k rollout status deployment/subject --timeout=200s

. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/pricing --timeout=220s
ready
kubectl label namespace "$NS" pod-security.kubernetes.io/enforce=restricted
k set env deployment/pricing RELEASE=2.4.0
k wait pod/subject --for=condition=Ready=false --timeout=120s
until k get events | grep -q "violates PodSecurity"; do sleep 1; done

. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/pricing --timeout=220s
ready
k create quota compute --hard=limits.cpu=8,limits.memory=8Gi
until [ -n "$(k get quota compute -o jsonpath='{.status.hard}')" ]; do sleep 0.5; done
k set env deployment/pricing RELEASE=1.9.0
k wait pod/subject --for=condition=Ready=false --timeout=120s
until k get events | grep -q "failed quota"; do sleep 1; done

. "$(dirname "$0")/../../lib.sh"
ready subject
k rollout restart deployment/pricing
k rollout status deployment/pricing --timeout=60s
said "has no server available" gateway haproxy
said "prices are not known"; sleep 8

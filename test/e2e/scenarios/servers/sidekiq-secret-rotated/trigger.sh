. "$(dirname "$0")/../../lib.sh"
ready
# What was well for less than a minute may have been about to fail anyway.
sleep 70
k patch secret redis-auth -p '{"stringData":{"password":"autumn-2026"}}'
k rollout restart deployment/redis
k rollout status deployment/redis --timeout=120s
k wait pod/subject --for=condition=Ready=false --timeout=90s
said NOAUTH; sleep 4

. "$(dirname "$0")/../../lib.sh"
ready subject
k rollout restart deployment/rabbitmq
said "connection is closed"
k rollout status deployment/rabbitmq --timeout=60s
sleep 4

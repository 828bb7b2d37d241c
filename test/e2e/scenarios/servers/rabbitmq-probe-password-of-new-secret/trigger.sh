. "$(dirname "$0")/../../lib.sh"
ready subject
k patch secret my-release-rabbitmq --type merge -p '{"stringData":{"rabbitmq-password":"dummy"}}'
sleep 2
k exec subject -- kill 1
again subject
said "HTTP access denied"; sleep 8

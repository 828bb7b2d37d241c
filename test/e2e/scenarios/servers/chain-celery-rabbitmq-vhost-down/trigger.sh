. "$(dirname "$0")/../../lib.sh"
ready sentry-rabbitmq
said "Server startup complete" sentry-rabbitmq
k exec sentry-rabbitmq -- sh -c 'chmod 0 /data/mnesia/*/msg_stores/vhosts/*; kill $(cat /data/pid)' || true
again sentry-rabbitmq
said "Unable to recover vhost" sentry-rabbitmq
until_true eval 'k logs subject | grep -q "is down" || k logs subject --previous 2>/dev/null | grep -q "is down"'
again subject; sleep 3

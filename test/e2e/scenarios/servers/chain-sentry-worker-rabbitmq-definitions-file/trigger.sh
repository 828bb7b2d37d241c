. "$(dirname "$0")/../../lib.sh"
again sentry-rabbitmq-0
said "Cannot connect to" subject sentry-worker; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "Running in" subject exchange-sidekiq
again subject
sleep 5

. "$(dirname "$0")/../../lib.sh"
ready postgres-primary
said "password authentication failed"; sleep 10

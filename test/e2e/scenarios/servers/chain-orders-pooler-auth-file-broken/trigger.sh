. "$(dirname "$0")/../../lib.sh"
ready database; ready pooler
said "password authentication failed"; sleep 12

. "$(dirname "$0")/../../lib.sh"
said query_wait_timeout; said query_wait_timeout pooler; sleep 8

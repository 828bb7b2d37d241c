. "$(dirname "$0")/../../lib.sh"
ready redis
said "max number of clients reached" subject worker; sleep 8

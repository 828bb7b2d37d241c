. "$(dirname "$0")/../../lib.sh"
said "database system is ready to accept connections" subject postgresql; sleep 16

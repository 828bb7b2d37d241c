. "$(dirname "$0")/../../lib.sh"
said "ready for connections" mysql-0
said "database mysql"; sleep 14

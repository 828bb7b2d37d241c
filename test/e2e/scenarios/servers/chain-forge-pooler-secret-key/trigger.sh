. "$(dirname "$0")/../../lib.sh"
ready forge-postgresql-0
said "database ping failed" forge
said "handled request"; sleep 8

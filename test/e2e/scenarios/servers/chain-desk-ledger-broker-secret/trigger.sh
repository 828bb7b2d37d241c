. "$(dirname "$0")/../../lib.sh"
said "broker events:4222" ledger
said "handled request"; sleep 8

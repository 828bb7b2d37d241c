. "$(dirname "$0")/../../lib.sh"
said "trust anchor" subject unbound; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready rates
said "no exchange rates"; sleep 6

. "$(dirname "$0")/../../lib.sh"
ready broker
said "no permissions"
again worker; sleep 6

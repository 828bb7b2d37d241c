. "$(dirname "$0")/../../lib.sh"
said "no pg_hba.conf entry"
again subject; sleep 4

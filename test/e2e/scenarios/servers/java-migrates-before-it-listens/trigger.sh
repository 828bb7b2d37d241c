. "$(dirname "$0")/../../lib.sh"
again subject
said "Migrating schema"; sleep 2

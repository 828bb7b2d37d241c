. "$(dirname "$0")/../../lib.sh"
again preference
said "Starting PreferencesApplication" preference
said "preference failed"; sleep 3

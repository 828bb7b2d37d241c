. "$(dirname "$0")/../../lib.sh"
said "Successfully applied" subject migrate; sleep 15

. "$(dirname "$0")/../../lib.sh"
said "lookup subject-1" subject-0; sleep 8

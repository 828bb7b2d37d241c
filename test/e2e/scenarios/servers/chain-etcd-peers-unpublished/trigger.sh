. "$(dirname "$0")/../../lib.sh"
said "no such host" subject-0; sleep 8

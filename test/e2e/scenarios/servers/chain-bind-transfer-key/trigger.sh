. "$(dirname "$0")/../../lib.sh"
said "tsig" subject named; sleep 8

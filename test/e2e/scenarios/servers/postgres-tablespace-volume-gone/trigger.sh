. "$(dirname "$0")/../../lib.sh"
said "could not open file"
sleep 8

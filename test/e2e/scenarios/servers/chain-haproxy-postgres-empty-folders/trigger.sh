. "$(dirname "$0")/../../lib.sh"
said "could not open directory" postgres postgres
said "has no server available"
again subject; sleep 12

. "$(dirname "$0")/../../lib.sh"
said "Read-only file system"
again subject; sleep 4

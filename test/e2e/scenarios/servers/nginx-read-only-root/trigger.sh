. "$(dirname "$0")/../../lib.sh"
again subject
said "Read-only file system"; sleep 5

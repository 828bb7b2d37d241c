. "$(dirname "$0")/../../lib.sh"
said "incompatible with operating system"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "directory index of"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "failed to check registry" harbor-core; sleep 15

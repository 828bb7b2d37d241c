. "$(dirname "$0")/../../lib.sh"
said "Running on http"; until_true running_for 50

. "$(dirname "$0")/../../lib.sh"
until_true running_for 25

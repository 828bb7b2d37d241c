. "$(dirname "$0")/../../lib.sh"
ready export
until_true running_for 15

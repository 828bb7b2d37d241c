. "$(dirname "$0")/../../lib.sh"
said "no such user"
until_true running_for 78

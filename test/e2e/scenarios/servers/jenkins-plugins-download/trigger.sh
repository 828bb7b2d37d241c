. "$(dirname "$0")/../../lib.sh"
said "Downloading plugin" subject
until_true running_for 35

. "$(dirname "$0")/../../lib.sh"
said '" 400 '; sleep 10

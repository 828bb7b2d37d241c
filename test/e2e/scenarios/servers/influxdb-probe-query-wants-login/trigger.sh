. "$(dirname "$0")/../../lib.sh"
said '" 401 '; sleep 8

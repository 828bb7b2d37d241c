. "$(dirname "$0")/../../lib.sh"
said '" 444 '; sleep 8

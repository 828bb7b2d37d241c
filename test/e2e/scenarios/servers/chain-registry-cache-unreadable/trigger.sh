. "$(dirname "$0")/../../lib.sh"
again cache
said '" 503 '; sleep 6

. "$(dirname "$0")/../../lib.sh"
said '" 499 ' subject nginx; sleep 15

. "$(dirname "$0")/../../lib.sh"
said 'Exception in thread "main"'; sleep 22

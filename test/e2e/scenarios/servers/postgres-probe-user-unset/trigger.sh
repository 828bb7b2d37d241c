. "$(dirname "$0")/../../lib.sh"
said 'role "--port=5432" does not exist'; sleep 8

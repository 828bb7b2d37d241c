. "$(dirname "$0")/../../lib.sh"
ready jobs-db
again jobs
said '"level":"error"'; sleep 5

. "$(dirname "$0")/../../lib.sh"
said "supervisord started with pid"; sleep 12

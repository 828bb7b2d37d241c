. "$(dirname "$0")/../../lib.sh"
said "spawned uWSGI"; sleep 3

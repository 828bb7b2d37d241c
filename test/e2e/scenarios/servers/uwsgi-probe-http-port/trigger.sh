. "$(dirname "$0")/../../lib.sh"
said "spawned uWSGI worker 2" subject nautobot; sleep 14

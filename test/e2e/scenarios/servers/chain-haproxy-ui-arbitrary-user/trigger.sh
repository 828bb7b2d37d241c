. "$(dirname "$0")/../../lib.sh"
again autotune-ui
said "no server available"; sleep 10

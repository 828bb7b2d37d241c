. "$(dirname "$0")/../../lib.sh"
ready dashboards
said "while reading response header from upstream"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "No module named"
said "not expected"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said "Uvicorn running"; sleep 12

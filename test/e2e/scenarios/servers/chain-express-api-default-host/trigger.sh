. "$(dirname "$0")/../../lib.sh"
said "Uvicorn running on" inventory-api; said "503"; sleep 12

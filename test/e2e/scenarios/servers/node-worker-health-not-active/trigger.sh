. "$(dirname "$0")/../../lib.sh"
said "n8n worker is now ready"
again subject
sleep 5

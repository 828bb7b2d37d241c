. "$(dirname "$0")/../../lib.sh"
said "Running on" recommendationservice
said "failed to get product recommendations"
sleep 25

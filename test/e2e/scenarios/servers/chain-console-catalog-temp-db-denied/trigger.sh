. "$(dirname "$0")/../../lib.sh"
again operator-catalog-x7k2p
said "DOWN"
sleep 10

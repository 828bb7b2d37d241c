. "$(dirname "$0")/../../lib.sh"
k wait pod/egress --for=condition=Ready --timeout=90s
k wait pod/stock --for=condition=Ready --timeout=90s
said "Booting worker"; sleep 6

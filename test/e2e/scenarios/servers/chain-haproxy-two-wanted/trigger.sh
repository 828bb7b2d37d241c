. "$(dirname "$0")/../../lib.sh"
k wait pod/quotes-a --for=condition=Ready --timeout=60s
again quotes-b
said "quotes/quotes-b is DOWN"; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready bank
said "payments are down"
k wait pod/subject --for=condition=Ready=false --timeout=90s

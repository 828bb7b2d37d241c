. "$(dirname "$0")/../../lib.sh"
said "payments through the gateway"
said "SSL_do_handshake" gateway
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/ca.key" -out "$d/ca.crt" -subj /CN=shop-ca -days 365 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/tls.key" -out "$d/csr" -subj /CN=queue 2>/dev/null
echo "subjectAltName=DNS:queue" >"$d/ext"
openssl x509 -req -in "$d/csr" -CA "$d/ca.crt" -CAkey "$d/ca.key" -CAcreateserial -extfile "$d/ext" -days 90 -out "$d/tls.crt" 2>/dev/null
k create secret generic queue-tls --from-file="$d/ca.crt" --from-file="$d/tls.crt" --from-file="$d/tls.key"
k create configmap shop-ca --from-file="$d/ca.crt"
rm -rf "$d"
ready queue
said "health check of the queue failed"; sleep 12

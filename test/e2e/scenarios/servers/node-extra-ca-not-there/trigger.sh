. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/ca.key" -out "$d/ca.crt" -subj "/CN=Shop Internal CA" -days 3650 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/csr" -subj /CN=orders 2>/dev/null
printf 'subjectAltName=DNS:orders\n' >"$d/ext"
openssl x509 -req -in "$d/csr" -CA "$d/ca.crt" -CAkey "$d/ca.key" -CAcreateserial -extfile "$d/ext" -days 30 -out "$d/crt" 2>/dev/null
k create configmap internal-ca --from-file=ca.crt="$d/ca.crt"
k create secret tls orders-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
ready orders
again subject
sleep 3

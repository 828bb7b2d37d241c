. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/csr" -subj /CN=payments 2>/dev/null
echo "subjectAltName=DNS:payments" >"$d/ext"
openssl x509 -req -in "$d/csr" -signkey "$d/key" -days -1 -extfile "$d/ext" -out "$d/crt" 2>/dev/null
k create secret tls payments-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
k wait pod/payments --for=condition=Ready --timeout=90s
said "gateway listening"; sleep 6

. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
for ca in old new; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/$ca.key" -out "$d/$ca.crt" -days 90 -subj "/CN=shop $ca" 2>/dev/null
done
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/csr" -subj /CN=payments 2>/dev/null
echo "subjectAltName=DNS:payments" >"$d/ext"
openssl x509 -req -in "$d/csr" -CA "$d/new.crt" -CAkey "$d/new.key" -CAcreateserial -days 90 -extfile "$d/ext" -out "$d/crt" 2>/dev/null
k create secret tls payments-tls --cert "$d/crt" --key "$d/key"
k create secret generic authority --from-file=ca.crt="$d/old.crt"
rm -rf "$d"
ready payments
ready orders
said "PKIX path" orders; sleep 6

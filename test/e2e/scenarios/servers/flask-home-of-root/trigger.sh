. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/ca.key" -out "$d/root.crt" -subj /CN=shop-ca -days 365 2>/dev/null
leaf() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/$2" -out "$d/csr" -subj "/CN=$1" 2>/dev/null
  echo "subjectAltName=DNS:$1" >"$d/ext"
  openssl x509 -req -in "$d/csr" -CA "$d/root.crt" -CAkey "$d/ca.key" -CAcreateserial -extfile "$d/ext" -days 90 -out "$d/$3" 2>/dev/null
}
leaf db tls.key tls.crt
leaf shop postgresql.key postgresql.crt
k create secret generic db-tls --from-file="$d/root.crt" --from-file="$d/tls.crt" --from-file="$d/tls.key"
k create secret generic shop-client-tls --from-file="$d/postgresql.crt" --from-file="$d/postgresql.key"
rm -rf "$d"
ready db
said "ermission denied"; sleep 8

. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=shop.example -days 30 2>/dev/null
k create secret tls shop-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
again subject

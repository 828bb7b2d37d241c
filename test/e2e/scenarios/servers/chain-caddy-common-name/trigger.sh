. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj "/O=Shop/CN=payments" -days 365 2>/dev/null
k create secret tls payments-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
ready payments
said "legacy Common Name"; sleep 8

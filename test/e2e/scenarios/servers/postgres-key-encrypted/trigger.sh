. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -passout pass:autumn-2026 -keyout "$d/key" -out "$d/crt" -subj /CN=db -days 30 2>/dev/null
k create secret generic db-tls --from-file=tls.crt="$d/crt" --from-file=tls.key="$d/key"
rm -rf "$d"
again subject

. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=etcd -addext "subjectAltName=IP:127.0.0.1,DNS:localhost" -days 30 2>/dev/null
k create secret tls etcd-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
said "ready to serve client requests"; sleep 8

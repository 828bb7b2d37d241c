. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=redis-master -days 30 2>/dev/null
k create secret tls redis-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
ready redis
said "Cannot connect to redis"; sleep 12

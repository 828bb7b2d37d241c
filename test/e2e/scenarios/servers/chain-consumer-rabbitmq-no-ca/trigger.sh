. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=rabbitmq.shop.example -days 30 2>/dev/null
k create secret tls shop-broker-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
again rabbitmq
again subject

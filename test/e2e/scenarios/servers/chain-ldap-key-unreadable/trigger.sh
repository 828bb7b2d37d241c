. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=ldap -days 30 2>/dev/null
k create secret tls ldap-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
said "Booting worker"; again ldap; sleep 5

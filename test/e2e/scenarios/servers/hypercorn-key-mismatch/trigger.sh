. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
for n in old new; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/$n.key" -out "$d/$n.crt" -subj /CN=api -days 30 2>/dev/null
done
k create secret generic api-tls --from-file=tls.crt="$d/new.crt" --from-file=tls.key="$d/old.key"
rm -rf "$d"
again subject

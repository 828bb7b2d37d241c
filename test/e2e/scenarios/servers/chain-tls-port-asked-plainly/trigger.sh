. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=account -days 30 2>/dev/null
k create secret tls account-tls --cert "$d/crt" --key "$d/key"
rm -rf "$d"
ready account
k wait pod/subject --for=jsonpath='{.status.containerStatuses[0].started}'=true --timeout=120s
until k logs account | grep -q '" 400 '; do sleep 1; done
sleep 6

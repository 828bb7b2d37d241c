. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$d/key" -out "$d/crt" -subj /CN=sessions -days 30 2>/dev/null
k create secret tls sessions-tls --cert "$d/crt" --key "$d/key"
k create secret generic sessions-ca --from-file=ca.pem="$d/crt"
rm -rf "$d"
ready sessions
until k get pod shop -o jsonpath='{.status.initContainerStatuses[0].restartCount}' | grep -q '[1-9]'; do sleep 1; done
k wait pod/subject --for=jsonpath='{.status.containerStatuses[0].started}'=true --timeout=120s
sleep 8

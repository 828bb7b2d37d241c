. "$(dirname "$0")/../lib.sh"
ip route replace blackhole 192.0.2.0/24
k apply -f - <<'P'
apiVersion: v1
kind: Pod
metadata: {name: subject}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: "perl:1"
    command: ["perl", "-MIO::Socket::INET", "-e", "IO::Socket::INET->new(PeerAddr => '192.0.2.7:5432'); exec 'perl', '/usr/lib/serve', '8080', '200'"]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 2}
P

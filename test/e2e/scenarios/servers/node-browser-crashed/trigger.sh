. "$(dirname "$0")/../../lib.sh"
ready subject
k exec subject -- busybox wget -q -O- "http://127.0.0.1:3000/screenshot?url=https://maps.example/webgl" || true
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
k wait pod/subject --for=jsonpath='{.status.phase}'=Running --timeout=25s || true
for _ in $(seq 12); do
  if k exec subject -- busybox wget -q -O /dev/null http://127.0.0.1:8080/operate/actuator/health/readiness 2>/dev/null; then break; fi
  sleep 1
done
sleep 8

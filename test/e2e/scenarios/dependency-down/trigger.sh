. "$(dirname "$0")/../lib.sh"
ready
# Replicas of one age could also fail for their age: these are younger by more.
sleep 20
for p in second third; do
  kubectl -n "$NS" apply -f - <<END
{apiVersion: v1, kind: Pod, metadata: {name: $p}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1", command: [sleep, "1000"],
  readinessProbe: {exec: {command: [sh, -c, "wget -q -O /dev/null http://\$DB_SERVICE_HOST:8080/passwd"]}, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 3}}]}}
END
  ready $p
done
k delete pod db

. "$(dirname "$0")/../lib.sh"
kubectl -n "$NS" apply -f - <<END
{apiVersion: v1, kind: Pod, metadata: {name: db, labels: {app: db}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1", command: [httpd, -f, -p, "8080", -h, /etc]}]}}
END
for p in db subject second third; do ready $p; done

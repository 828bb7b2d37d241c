. "$(dirname "$0")/../lib.sh"
# A short wait at the start is no trouble afterwards.
until_true running_for 70
k apply -f - <<END
{apiVersion: v1, kind: Pod, metadata: {name: db, labels: {app: db}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1", command: [httpd, -f, -p, "5432", -h, /etc]}]}}
END
ready

. "$(dirname "$0")/../../lib.sh"
ready
# somebody scales it to two
k apply -f - <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: meters-2, labels: {app: meters}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: meters
    image: "python:1"
    command: ["sh", "-c", "while :; do python3 /srv/meters.py; sleep 2; done"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
Y
again subject

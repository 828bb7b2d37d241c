. "$(dirname "$0")/../../lib.sh"
ready queue
ready
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: backfill, labels: {app: backfill}}
spec:
  terminationGracePeriodSeconds: 2
  restartPolicy: Never
  containers:
  - name: backfill
    image: "python:1"
    command: ["python3", "/srv/backfill.py"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
again queue
ready queue
said NOGROUP
again subject
sleep 12

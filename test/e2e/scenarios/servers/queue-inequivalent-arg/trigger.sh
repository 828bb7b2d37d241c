. "$(dirname "$0")/../../lib.sh"
said "is declared" publisher
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: worker
    image: "python:1"
    command: ["python3", "/srv/worker.py"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
again subject

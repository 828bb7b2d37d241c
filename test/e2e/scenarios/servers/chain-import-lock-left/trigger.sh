. "$(dirname "$0")/../../lib.sh"
failed() { [ "$(k get pod importer -o jsonpath='{.status.phase}')" = Failed ]; }
until_true failed
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: catalog
    image: "python:1"
    command: ["gunicorn", "--chdir", "/srv", "--worker-tmp-dir", "/dev/shm", "-b", "0.0.0.0:8000", "--timeout", "0", "--threads", "4", "app:app"]
    readinessProbe: {httpGet: {path: /readyz, port: 8000}, timeoutSeconds: 5, failureThreshold: 2, periodSeconds: 3}
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
said "held by importer"; sleep 8

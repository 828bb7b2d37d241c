. "$(dirname "$0")/../../lib.sh"
# the Job is done, and gone
while k get job/migrate >/dev/null 2>&1; do sleep 1; done
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  serviceAccountName: web
  initContainers:
  - name: wait-for-migrate
    image: "python:1"
    command: ["python3", "/srv/wait.py", "migrate"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  containers:
  - name: web
    image: "ruby:1"
    command: ["puma", "-b", "tcp://0.0.0.0:9292", "/srv/config.ru"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
said "not found" subject wait-for-migrate; sleep 12

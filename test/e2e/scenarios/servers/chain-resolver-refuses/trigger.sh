. "$(dirname "$0")/../../lib.sh"
ready resolver
ip=$(k get svc resolver -o jsonpath='{.spec.clusterIP}')
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  dnsPolicy: None
  dnsConfig: {nameservers: [$ip], searches: [$NS.svc.cluster.local], options: [{name: timeout, value: "1"}, {name: attempts, value: "1"}]}
  containers:
  - name: api
    image: "python:1"
    command: ["gunicorn", "--chdir", "/srv", "--worker-tmp-dir", "/dev/shm", "-b", "0.0.0.0:8000", "--threads", "8", "app:app"]
    readinessProbe: {httpGet: {path: /healthz, port: 8000}, periodSeconds: 4, timeoutSeconds: 8, failureThreshold: 1}
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
said "name resolution"; sleep 8

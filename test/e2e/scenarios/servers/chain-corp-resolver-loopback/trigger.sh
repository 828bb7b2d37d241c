. "$(dirname "$0")/../../lib.sh"
ready corp-dns
corp=$(k get svc corp-dns -o jsonpath='{.spec.clusterIP}')
ip=$(k get svc resolver -o jsonpath='{.spec.clusterIP}')
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: resolver, labels: {app: resolver}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: dnsmasq
    image: "edge:1"
    command: ["dnsmasq", "--keep-in-foreground", "--log-facility=-", "--pid-file=", "--user=root", "--no-resolv", "--no-hosts", "--cache-size=1000", "--log-queries", "--server=10.43.0.10", "--server=/corp.example/$corp"]
    ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]
    readinessProbe: {tcpSocket: {port: 53}, periodSeconds: 3}
---
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  dnsPolicy: None
  dnsConfig: {nameservers: [$ip], searches: [$NS.svc.cluster.local], options: [{name: timeout, value: "1"}, {name: attempts, value: "2"}]}
  containers:
  - name: api
    image: "python:1"
    command: ["gunicorn", "--chdir", "/srv", "--worker-tmp-dir", "/dev/shm", "-b", "0.0.0.0:8000", "--timeout", "0", "--threads", "4", "app:app"]
    ports: [{containerPort: 8000}]
    readinessProbe: {httpGet: {path: /healthz, port: 8000}, periodSeconds: 5, timeoutSeconds: 8, failureThreshold: 2}
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
ready resolver
said "failure in name resolution"; sleep 8

. "$(dirname "$0")/../../lib.sh"
k get service api
sleep 4 # a node knows of a new Service a moment later
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: server
    image: "node:1"
    command: ["node", "/srv/server.js"]
    ports: [{containerPort: 3000}]
    readinessProbe: {httpGet: {path: /, port: 3000}, periodSeconds: 3}
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END

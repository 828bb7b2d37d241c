. "$(dirname "$0")/../../lib.sh"
# the variables are those of the Services that are there when a container is made
sleep 3
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: registry}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: registry
    image: "stores:1"
    command: ["docker-registry", "serve", "/srv/config.yml"]
    ports: [{containerPort: 5000}]
    readinessProbe: {httpGet: {path: /, port: 5000}, periodSeconds: 3}
    volumeMounts: [{name: conf, mountPath: /srv}, {name: data, mountPath: /data}]
  volumes:
  - {name: conf, configMap: {name: conf}}
  - {name: data, emptyDir: {}}
END
again subject

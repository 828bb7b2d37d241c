. "$(dirname "$0")/../../lib.sh"
ready gateway-blue
# the Service leads to green already; its pod wants the port of the node that blue has
k apply -f - <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: gateway-green, labels: {app: gateway, release: green}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: nginx
    image: "nginx:1"
    ports: [{containerPort: 80, hostPort: 18480}]
    readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 3}
Y
k wait pod/gateway-green --for=condition=PodScheduled=false --timeout=60s
said "payments by"
sleep 4

. "$(dirname "$0")/../lib.sh"
until [ -n "$(k get service other -o jsonpath='{.status.loadBalancer.ingress}')" ]; do sleep 1; done
k create -f - <<'END'
apiVersion: v1
kind: Service
metadata: {name: subject}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 8099, targetPort: 8080}]}
END

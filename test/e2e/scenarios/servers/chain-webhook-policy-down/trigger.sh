. "$(dirname "$0")/../../lib.sh"
ready
uid=$(kubectl get namespace "$NS" -o jsonpath='{.metadata.uid}')
# it is asked about this namespace alone, and goes with it
kubectl apply -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: policy-$NS
  ownerReferences: [{apiVersion: v1, kind: Namespace, name: $NS, uid: $uid}]
webhooks:
- name: pods.policy.shop.example
  clientConfig: {service: {name: policy, namespace: $NS, path: /validate}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}}
  objectSelector: {matchLabels: {app: shop}}
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: 3
  admissionReviewVersions: [v1]
END
sleep 2 # the API server hears of it a moment later
k delete pod -l app=shop
until k get events | grep -q "failed calling webhook"; do sleep 1; done
k wait pod/subject --for=condition=Ready=false --timeout=90s
again policy

. "$(dirname "$0")/../lib.sh"
k rollout status deployment/web --timeout=220s
old=$(k get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
k scale deployment/web --replicas=0
k wait "pod/$old" --for=delete --timeout=220s
echo "subject=pod/$old"

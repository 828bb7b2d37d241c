. "$(dirname "$0")/../../lib.sh"
mount_failed() { k get events --field-selector involvedObject.name=subject -o jsonpath='{.items[*].message}' | grep -q 'ca\.crt'; }
for _ in $(seq 80); do mount_failed && break; sleep 1; done
sleep 2

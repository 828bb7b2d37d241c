. "$(dirname "$0")/../lib.sh"
ready
uses_much() { [ "$(awk '/^VmRSS/ {print $2}' "/proc/$(host_pids perl | head -1)/status")" -gt 25000 ]; }
until_true uses_much
k patch pod subject --subresource=resize -p '{"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "20Mi"}, "limits": {"memory": "20Mi"}}}]}}'

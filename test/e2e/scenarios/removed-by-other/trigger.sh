. "$(dirname "$0")/../lib.sh"
ready
id=$(k get pod subject -o jsonpath='{.status.containerStatuses[0].containerID}')
ctr="$(dirname "$(command -v whylet)")/peer/ctr"
socket=$(find /run "$DATA" -maxdepth 4 -name containerd.sock 2>/dev/null | while read -r s; do "$ctr" -a "$s" -n k8s.io containers info "${id#*://}" >/dev/null 2>&1 && echo "$s"; done | head -1)
# Between the end and the removal the node may see the end, and starts it again.
"$ctr" -a "$socket" -n k8s.io tasks delete --force "${id#*://}" || true
"$ctr" -a "$socket" -n k8s.io containers delete "${id#*://}"

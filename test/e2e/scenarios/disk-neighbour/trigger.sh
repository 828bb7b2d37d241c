. "$(dirname "$0")/../lib.sh"
ready
ready filler
# The threshold is a little below what is free now.
free=$(df -k --output=avail "$DATA" | tail -1)
whylet down --data-dir "$DATA"
whylet up --detach --data-dir "$DATA" --kubeconfig "$KUBECONFIG" --eviction-hard "memory.available<50Mi,nodefs.available<$((free / 1024 - 300))Mi"
until_true k exec filler -- dd if=/dev/zero of=/v/f bs=1M count=500
k wait pod/subject --for=jsonpath='{.status.phase}'=Failed --timeout=220s

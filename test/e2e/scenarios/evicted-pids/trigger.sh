. "$(dirname "$0")/../lib.sh"
ready
most=$(sort -n /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max | head -1)
now=$(cut -d/ -f2 /proc/loadavg | cut -d' ' -f1)
whylet down --data-dir "$DATA"
whylet up --detach --data-dir "$DATA" --kubeconfig "$KUBECONFIG" --eviction-hard "memory.available<50Mi,pid.available<$((most - now - 500))"
until_true k exec subject -- touch /tmp/go
k wait pod/subject --for=jsonpath='{.status.phase}'=Failed --timeout=220s

. "$(dirname "$0")/../lib.sh"
ready
# What a restart leaves: no process of the node, and another boot id.
containers=$(host_pids httpd; host_pids pause)
whylet down --data-dir "$DATA"
kill -9 $containers
uuid=$(mktemp)
cat /proc/sys/kernel/random/uuid > "$uuid"
unshare --mount --propagation slave bash -euc 'mount --bind "$0" /proc/sys/kernel/random/boot_id; whylet up --detach --data-dir "$DATA" --kubeconfig "$KUBECONFIG"' "$uuid"
ready
# For whoever stops the node it was no restart: its process is one of this boot.
boot=$(cat /proc/sys/kernel/random/boot_id)
sed -i "s/$(cat "$uuid")/$boot/" "$DATA/whylet.json"

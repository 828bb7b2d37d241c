. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
# the pair is made in a pod, for the machine may have no OpenSSH
k run keys --image=edge:1 --restart=Never --image-pull-policy=IfNotPresent --command -- sleep 300
ready keys
k exec keys -- ssh-keygen -q -t ed25519 -N '' -f /tmp/id
k exec keys -- cat /tmp/id >"$d/id_ed25519"
k exec keys -- cat /tmp/id.pub >"$d/authorized_keys"
# what was known of the server when the import was set up: the key of a pod that is gone since
k exec keys -- ssh-keygen -q -t ed25519 -N '' -f /tmp/of_before
echo "[sftp]:2222 $(k exec keys -- cat /tmp/of_before.pub)" >"$d/known_hosts"
k delete pod keys --grace-period=0 --force
k create secret generic feed-keys --from-file="$d/id_ed25519" --from-file="$d/authorized_keys" --from-file="$d/known_hosts"
rm -rf "$d"
k wait pod/subject --for=jsonpath='{.status.phase}'=Failed --timeout=150s

. "$(dirname "$0")/../../lib.sh"
d=$(mktemp -d)
# the pair is made in a pod, for the machine may have no OpenSSH
k run keys --image=edge:1 --restart=Never --image-pull-policy=IfNotPresent --command -- sleep 300
ready keys
k exec keys -- ssh-keygen -q -t ed25519 -N '' -f /tmp/id
k exec keys -- cat /tmp/id >"$d/id_ed25519"
k exec keys -- cat /tmp/id.pub >"$d/authorized_keys"
k delete pod keys --grace-period=0 --force
k create secret generic feed-keys --from-file="$d/id_ed25519" --from-file="$d/authorized_keys"
rm -rf "$d"
again subject
said "bad ownership or modes" sftp

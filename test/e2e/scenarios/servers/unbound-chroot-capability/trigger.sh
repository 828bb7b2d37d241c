. "$(dirname "$0")/../../lib.sh"
said "unable to chroot"
again subject
sleep 5

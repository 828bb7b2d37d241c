. "$(dirname "$0")/../../lib.sh"
ready subject
k exec subject -- busybox sh -c 'printf "\317\022\104\067\203\001\000\000" | busybox dd of=/data/etcd-0/member/wal/0000000000000000-0000000000000000.wal bs=8 seek=10 conv=notrunc; busybox kill 1' || true
said "max entry size limit exceeded"
again subject; sleep 3

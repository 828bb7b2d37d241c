. "$(dirname "$0")/../../lib.sh"
ready db; ready
nsenter --net="/proc/$(host_pids pause db | head -1)/ns/net" nft 'add table ip deny; add chain ip deny in { type filter hook input priority 0; }; add rule ip deny in tcp dport 5432 drop'
k wait pod/subject --for=condition=Ready=false --timeout=120s

. "$(dirname "$0")/../lib.sh"
ready
in_pod nft 'add table ip t; add chain ip t c { type filter hook input priority 0; }; add rule ip t c tcp dport 8080 drop'

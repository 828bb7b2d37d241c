. "$(dirname "$0")/../lib.sh"
in_pod nft delete table ip t
ready

. "$(dirname "$0")/../../lib.sh"
ready gm
again kb
said "sync with gm failed: 502"; sleep 10

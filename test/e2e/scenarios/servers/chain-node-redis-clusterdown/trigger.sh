. "$(dirname "$0")/../../lib.sh"
ready redis-cluster-0
said "CLUSTERDOWN"; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready redis
ready
said "ready\."
k exec redis -- redis-cli REPLICAOF 192.0.2.66 8886
again subject
said "read only replica"; sleep 5

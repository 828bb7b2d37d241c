. "$(dirname "$0")/../../lib.sh"
k wait job/cluster-init --for=condition=Failed --timeout=80s
again subject
sleep 2

. "$(dirname "$0")/../../lib.sh"
ready frontend
said "Redis Store is required" frontend
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 8

. "$(dirname "$0")/../lib.sh"
k patch secret s -p '{"stringData":{"password":"b"}}'
ready

. "$(dirname "$0")/../lib.sh"
k patch configmap settings -p '{"data":{"mode":"good"}}'
ready

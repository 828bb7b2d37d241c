. "$(dirname "$0")/../lib.sh"
ready
k patch configmap settings -p '{"data":{"mode":"bad"}}'

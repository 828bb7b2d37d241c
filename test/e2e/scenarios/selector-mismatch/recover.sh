. "$(dirname "$0")/../lib.sh"
k patch service subject -p '{"spec":{"selector":{"app":"web"}}}'

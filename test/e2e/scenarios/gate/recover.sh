. "$(dirname "$0")/../lib.sh"
k patch pod subject --subresource=status -p '{"status":{"conditions":[{"type":"example.com/gate","status":"True"}]}}'
ready

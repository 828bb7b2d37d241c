. "$(dirname "$0")/../lib.sh"
k patch pod subject --subresource=status -p '{"status":{"conditions":[{"type":"example.com/a","status":"True"},{"type":"example.com/b","status":"True"}]}}'
  ready

. "$(dirname "$0")/../lib.sh"
ready
cgroup=$(cgroup_of sh)
is() { [ "$(cat "$cgroup/$1")" = "$2" ]; }
is memory.max $((24 << 20))
is memory.oom.group 1
is cpu.max "50000 100000"
k patch pod subject --subresource resize -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"48Mi","cpu":"250m"},"limits":{"memory":"48Mi","cpu":"250m"}}}]}}'
until_true is memory.max $((48 << 20))
until_true is cpu.max "25000 100000"

# What the node says of the cgroup is what the cgroup says.
stats() {
  local numbers
  numbers=$(k get --raw "/api/v1/nodes/$(k get pod subject -o jsonpath='{.spec.nodeName}')/proxy/stats/summary")
  for field in psi usageCoreNanoSeconds workingSetBytes process_count; do
    echo "$numbers" | grep -q "\"$field\"" || { echo "no $field in the statistics" >&2; return 1; }
  done
}
until_true stats
k exec subject -- touch /tmp/go

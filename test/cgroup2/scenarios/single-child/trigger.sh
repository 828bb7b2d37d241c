. "$(dirname "$0")/../lib.sh"
ready
echo 0 >"$(cgroup_of sh)/memory.oom.group"
k exec subject -- touch /tmp/go

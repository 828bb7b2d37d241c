. "$(dirname "$0")/../../lib.sh"
# What the linkerd-init container does in a cluster, before the others begin.
until [ -n "$(host_pids sh)" ]; do sleep 1; done
in_pod nft -f - <<END
table ip mesh {
  chain inbound { type nat hook prerouting priority dstnat; tcp dport 8080 redirect to :4143; }
}
END
k exec subject -c linkerd-init -- touch /tmp/done

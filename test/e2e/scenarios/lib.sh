# What the scripts of the scenarios share. They run with bash -eu beside the node.

k() { kubectl -n "$NS" "$@"; }

# ready [POD] waits until a pod is Ready.
ready() { k wait "pod/${1:-subject}" --for=condition=Ready --timeout=220s; }

# host_pids COMM [POD]: the subject's processes of that name, or another pod's, by
# their host pids.
host_pids() {
  local uid p
  uid=$(k get pod "${2:-subject}" -o jsonpath='{.metadata.uid}')
  for p in /proc/[0-9]*; do
    if grep -qE "pod(${uid}|${uid//-/_})" "$p/cgroup" 2>/dev/null && [ "$(cat "$p/comm" 2>/dev/null)" = "$1" ]; then
      echo "${p#/proc/}"
    fi
  done
}

# cgroup_of COMM: the folder of the cgroup of the subject's process of that name, on
# cgroup v2.
cgroup_of() { echo "/sys/fs/cgroup$(cut -d: -f3 "/proc/$(host_pids "$1" | head -1)/cgroup")"; }

# in_pod PROGRAM…: runs it in the subject's network namespace.
in_pod() { nsenter --net="/proc/$(host_pids pause | head -1)/ns/net" "$@"; }

# join_mesh puts the namespace into the mesh, and its pod in its place again.
join_mesh() {
  local image
  image=$(mktemp --suffix .tar)
  whylet mesh image --to "$image"
  whylet image load --data-dir "$DATA" "$image"
  rm -f "$image"
  until_true whylet mesh enable "$NS" --data-dir "$DATA"
  k replace --force -f - <<<"$MANIFEST"
}

# running_for SECONDS: the subject's container has run that long.
running_for() {
  local at
  at=$(k get pod subject -o jsonpath='{.status.containerStatuses[0].state.running.startedAt}')
  [ -n "$at" ] && [ $(($(date +%s) - $(date +%s -d "$at"))) -ge "$1" ]
}

# restarts [POD] is how often its containers were restarted.
restarts() { k get pod "${1:-subject}" -o jsonpath='{.status.containerStatuses[*].restartCount}' | tr ' ' '+' | sed 's/$/+0/' | xargs -I{} bash -c 'echo $(({}))'; }

# until_true COMMAND…: waits for it; the caller's time runs out, not this.
until_true() { until "$@"; do sleep 1; done; }

# said WORDS [POD [CONTAINER]]: waits until it has logged them: what is still starting
# is in another trouble than it will be.
said() { until k logs "${2:-subject}" ${3:+-c "$3"} 2>/dev/null | grep -q "$1"; do sleep 1; done; }

# again POD: waits until it was restarted.
again() { while [ "$(restarts "$1")" -lt 1 ]; do sleep 1; done; }

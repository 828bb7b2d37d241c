#!/bin/sh
# A Kubernetes node in a container for the tests of a job, with docker or podman:
#
#   . examples/container.sh
#   whylet_start NAME IMAGE       Ready when it returns; KUBECONFIG is set
#   whylet_load NAME ARCHIVE…     images as docker save writes them, which no registry has to have
#   whylet_stop NAME              and its data
#
# ENGINE is what is called; docker, or podman where there is no docker. RUN_FLAGS are
# further flags of its run. Whether it is Ready is looked at each WHYLET_POLL seconds.

ENGINE=${ENGINE:-$(command -v docker || command -v podman)}

whylet_start() {
  # Privileged, for it mounts, makes cgroups and writes rules; the port is one that is free.
  # shellcheck disable=SC2086 # several words
  $ENGINE run ${RUN_FLAGS:-} --detach --privileged --name "$1" --hostname "$1" \
    --publish 127.0.0.1::6443 --volume "$1:/var/lib/whylet" "$2" >/dev/null || return
  whylet_wait "$1"
}

whylet_wait() {
  until $ENGINE exec "$1" whylet status >/dev/null 2>&1; do
    if [ "$($ENGINE inspect --format '{{.State.Running}}' "$1")" != true ]; then
      $ENGINE logs "$1" >&2
      return 1
    fi
    sleep "${WHYLET_POLL:-0.2}"
  done
  KUBECONFIG=${TMPDIR:-/tmp}/$1.kubeconfig
  export KUBECONFIG
  $ENGINE cp "$1:/var/lib/whylet/kubeconfig/admin.conf" "$KUBECONFIG" || return
  port=$($ENGINE port "$1" 6443/tcp) || return
  sed -i "s|server: .*|server: https://127.0.0.1:${port##*:}|" "$KUBECONFIG"
}

whylet_load() {
  name=$1
  shift
  for archive; do
    $ENGINE cp "$archive" "$name:/tmp/image.tar" && $ENGINE exec "$name" whylet image load /tmp/image.tar || return
  done
}

whylet_stop() {
  $ENGINE rm --force --volumes "$1" >/dev/null
  $ENGINE volume rm --force "$1" >/dev/null
  rm -f "${TMPDIR:-/tmp}/$1.kubeconfig"
}

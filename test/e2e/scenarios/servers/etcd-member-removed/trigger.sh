. "$(dirname "$0")/../../lib.sh"
ready
sleep 10
# asks etcd-0 by its gateway: there is no etcdctl in the image
ask() { k exec etcd-0 -- wget -q -O - --header "Content-Type: application/json" --post-data "$2" "http://127.0.0.1:2379/v3/cluster/member/$1" 2>/dev/null || true; }
while [ "$(restarts subject)" -lt 1 ]; do
  member=$(ask list '{}' | sed -n 's/.*"ID":"\([0-9]*\)","name":"etcd-1".*/\1/p')
  if [ -n "$member" ]; then ask remove "{\"ID\":\"$member\"}" >/dev/null; fi
  sleep 4
done
sleep 6

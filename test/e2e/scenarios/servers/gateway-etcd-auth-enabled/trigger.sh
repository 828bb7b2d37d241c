. "$(dirname "$0")/../../lib.sh"
ready etcd
ready subject
v3() { k exec etcd -- wget -q -O - --header 'Content-Type: application/json' --post-data "$2" "http://127.0.0.1:2379/v3/$1"; }
v3 auth/user/add '{"name":"root","password":"kJ83hd02nf"}'
v3 auth/role/add '{"name":"root"}'
v3 auth/user/grant '{"user":"root","role":"root"}'
v3 auth/enable '{}'
again subject; sleep 4

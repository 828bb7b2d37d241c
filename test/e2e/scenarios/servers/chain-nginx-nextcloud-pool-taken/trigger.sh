. "$(dirname "$0")/../../lib.sh"
said "max_children setting" nextcloud-fpm
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready
k delete pod subject --wait=false
said "binary reloading uWSGI"
sleep 8

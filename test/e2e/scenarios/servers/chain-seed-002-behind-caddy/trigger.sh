. "$(dirname "$0")/../../lib.sh"
ready test; ready
sleep 10
k exec test -- rm /usr/share/nginx/html/index.html
while [ "$(restarts test)" -lt 2 ]; do sleep 1; done
k wait pod/subject --for=condition=Ready=false --timeout=90s

. "$(dirname "$0")/../../lib.sh"
said "open_basedir" subject php
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

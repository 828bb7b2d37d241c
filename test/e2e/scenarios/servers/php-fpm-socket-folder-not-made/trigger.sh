. "$(dirname "$0")/../../lib.sh"
again subject
said "FPM initialization failed" subject php; sleep 4

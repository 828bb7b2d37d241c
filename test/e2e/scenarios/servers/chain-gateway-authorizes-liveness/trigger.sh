. "$(dirname "$0")/../../lib.sh"
ready
said "UnicodeEncodeError" user-service
again subject; sleep 12

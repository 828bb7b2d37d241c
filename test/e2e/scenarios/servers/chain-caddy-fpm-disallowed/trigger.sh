. "$(dirname "$0")/../../lib.sh"
ready php
said "Connection disallowed" php; sleep 8

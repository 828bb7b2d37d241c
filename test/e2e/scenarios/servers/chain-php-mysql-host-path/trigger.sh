. "$(dirname "$0")/../../lib.sh"
ready php
said "SQLSTATE" php; sleep 6

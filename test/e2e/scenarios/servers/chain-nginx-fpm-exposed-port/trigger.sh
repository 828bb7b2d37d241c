. "$(dirname "$0")/../../lib.sh"
ready website-php
said "while connecting to upstream"; sleep 12

. "$(dirname "$0")/../../lib.sh"
ready php
said "while connecting to upstream"; sleep 10

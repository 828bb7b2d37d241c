. "$(dirname "$0")/../../lib.sh"
ready buildbuddy-mysql
said "bad port" buildbuddy init-mysql
said "scheduler at" executor
said "no executor registered"; sleep 8

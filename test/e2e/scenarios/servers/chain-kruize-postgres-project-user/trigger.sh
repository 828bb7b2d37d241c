. "$(dirname "$0")/../../lib.sh"
while [ "$(restarts postgres-deployment)" -lt 2 ]; do sleep 1; done
said "Failed to initialize database connection" kruize
said "kruize is not ready"; sleep 8

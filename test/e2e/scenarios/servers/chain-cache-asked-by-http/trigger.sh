. "$(dirname "$0")/../../lib.sh"
said "SECURITY ATTACK" cache
said "session store"; sleep 8

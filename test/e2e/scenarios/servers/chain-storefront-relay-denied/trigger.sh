. "$(dirname "$0")/../../lib.sh"
ready mail-relay
ready notifications
said "Relay access denied" mail-relay
said "notifications answers 503"; sleep 10

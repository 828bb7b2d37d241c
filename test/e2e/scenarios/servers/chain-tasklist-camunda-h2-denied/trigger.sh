. "$(dirname "$0")/../../lib.sh"
again camunda
said "ready: " subject
sleep 10

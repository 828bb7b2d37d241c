. "$(dirname "$0")/../../lib.sh"
again nats-0
said "could not connect to event stream" postprocessing
said "not reachable"; sleep 8

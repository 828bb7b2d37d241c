. "$(dirname "$0")/../../lib.sh"
ready unleash-edge
said "could not fetch feature flags" pricing
said "no prices from"; sleep 10

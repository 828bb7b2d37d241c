. "$(dirname "$0")/../../lib.sh"
ready print-api
k delete pod spoolman
k apply -f "$(dirname "$0")/manifest.yaml"
again spoolman
said "spools are not known" print-api; sleep 8

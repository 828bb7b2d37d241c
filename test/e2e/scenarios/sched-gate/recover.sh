. "$(dirname "$0")/../lib.sh"
k patch pod subject --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'
ready

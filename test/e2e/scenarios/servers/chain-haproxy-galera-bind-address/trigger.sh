. "$(dirname "$0")/../../lib.sh"
ready galera-0
said "galera_node/galera-0 is DOWN"
again subject; sleep 12

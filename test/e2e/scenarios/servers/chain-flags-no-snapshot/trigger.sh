. "$(dirname "$0")/../../lib.sh"
said "Booting worker"; again zookeeper
said "cannot read from ZooKeeper"; sleep 4

. "$(dirname "$0")/../../lib.sh"
again zookeeper
again clickhouse
said '" 502 '; sleep 8

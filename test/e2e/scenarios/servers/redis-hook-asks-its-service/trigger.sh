. "$(dirname "$0")/../../lib.sh"
up() { [ -n "$(host_pids redis-server)" ]; }
until_true up; sleep 10

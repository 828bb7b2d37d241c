. "$(dirname "$0")/../lib.sh"
ready
# What was well for less than a minute may have been about to fail anyway.
sleep 70
k patch configmap settings -p '{"data":{"mode":"bad"}}'
kill -TERM $(host_pids perl)

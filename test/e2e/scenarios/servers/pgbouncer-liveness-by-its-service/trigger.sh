. "$(dirname "$0")/../../lib.sh"
ready airflow-postgresql
again subject
while [ "$(restarts)" -lt 2 ]; do sleep 1; done
sleep 3

. "$(dirname "$0")/../../lib.sh"
ready subject
k exec subject -c database -- psql -h 127.0.0.1 -qc "create table orders as select g as id, md5(g::text) || md5((g * 7)::text) as payload from generate_series(1, 600000) g"
k exec subject -c database -- pg_dump -h 127.0.0.1 -f /tmp/toolib-prod.sql postgres || true
while [ "$(k get pod subject -o jsonpath='{.status.phase}')" != Failed ]; do sleep 1; done

. "$(dirname "$0")/../../lib.sh"
ready postgres
ready pgbouncer
said "20 connections open" report-workers
said "no more connections allowed"; sleep 10

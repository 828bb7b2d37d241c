. "$(dirname "$0")/../../lib.sh"
said 'ready\.'
k exec billing -- sh -c 'cd /srv; for month in 1 2 3; do python3 -c "import tasks; tasks.report.delay(1)"; sleep 3; done'
said SIGKILL

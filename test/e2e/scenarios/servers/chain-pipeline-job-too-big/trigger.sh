. "$(dirname "$0")/../../lib.sh"
ready beanstalkd
ready scanner
said "JOB_TOO_BIG" scanner
said "is not well"; sleep 10

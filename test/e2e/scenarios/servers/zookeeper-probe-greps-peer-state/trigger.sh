. "$(dirname "$0")/../../lib.sh"
until_true in_pod bash -c "echo >/dev/tcp/127.0.0.1/2181" 2>/dev/null; sleep 20

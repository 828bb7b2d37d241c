. "$(dirname "$0")/../../lib.sh"
ready redis
ready sessions
again redis-tls
said "sessions: HTTP 503"; sleep 10

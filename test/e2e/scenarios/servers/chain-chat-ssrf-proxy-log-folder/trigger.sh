. "$(dirname "$0")/../../lib.sh"
again ssrf-proxy
said "through http://ssrf-proxy:3128"; sleep 8

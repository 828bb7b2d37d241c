. "$(dirname "$0")/../../lib.sh"
ready tomcat
ready haproxy
said "Layer7 wrong status" haproxy
said "answered 503"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said "Server startup in" subject tomcat; sleep 12

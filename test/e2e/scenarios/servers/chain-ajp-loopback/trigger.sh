. "$(dirname "$0")/../../lib.sh"
ready tomcat
said "Server startup in" tomcat; sleep 10

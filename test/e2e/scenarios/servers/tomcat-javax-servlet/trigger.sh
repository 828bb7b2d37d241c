. "$(dirname "$0")/../../lib.sh"
said "javax.servlet.http.HttpServlet"; sleep 3

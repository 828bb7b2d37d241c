. "$(dirname "$0")/../../lib.sh"
said "Access denied" blog-mariadb
said "mysqli_sql_exception" subject wordpress
k wait pod/subject --for=condition=Ready=false --timeout=20s
sleep 8

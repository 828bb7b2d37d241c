. "$(dirname "$0")/../../lib.sh"
sql() { k exec "$1" -- mariadb -S /tmp/mysqld.sock -u root -e "$2"; }
ready mariadb-primary
until_true sql subject "SELECT 1"
sql mariadb-primary "CREATE DATABASE shop"
sql mariadb-primary "CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, item VARCHAR(40))"
for item in lamp chair table shelf; do sql mariadb-primary "INSERT INTO shop.orders (item) VALUES ('$item')"; done
sql subject "CHANGE MASTER TO MASTER_HOST='mariadb-primary', MASTER_USER='repl', MASTER_PASSWORD='h7Kd2mQx', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=5; START SLAVE"
ready
sleep 3
sql subject "STOP SLAVE"
until_true sql mariadb-primary "RESET MASTER"
sql mariadb-primary "INSERT INTO shop.orders (item) VALUES ('carpet')"
sql subject "START SLAVE"
said "which is not in the master"
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 6

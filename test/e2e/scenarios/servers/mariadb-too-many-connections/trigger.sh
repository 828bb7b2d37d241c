. "$(dirname "$0")/../../lib.sh"
until_true k exec subject -- mariadb --socket=/tmp/mysqld.sock -uroot -e "create user if not exists nobody@'%'; create user if not exists nobody@localhost"
ready
k wait pod/subject --for=condition=Ready=false --timeout=120s

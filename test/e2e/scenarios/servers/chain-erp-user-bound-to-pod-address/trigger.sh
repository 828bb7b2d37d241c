. "$(dirname "$0")/../../lib.sh"
ready mariadb
k wait job/create-site --for=condition=Complete --timeout=60s
said "Access denied for user '_a94f6c'" erp
said "no server"; sleep 8

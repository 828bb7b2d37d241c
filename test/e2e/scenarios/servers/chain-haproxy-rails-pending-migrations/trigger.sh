. "$(dirname "$0")/../../lib.sh"
said "Migrations are pending" deploy/zammad-railsserver
sleep 25

. "$(dirname "$0")/../../lib.sh"
said 'relation "site_settings" does not exist'
until k logs -l app=db-migrate --tail=50 2>/dev/null | grep -q "password authentication failed"; do sleep 1; done
sleep 6

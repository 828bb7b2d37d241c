. "$(dirname "$0")/../../lib.sh"
ready postgresql
said "password authentication failed" keycloak
said "keycloak is not available"; sleep 12

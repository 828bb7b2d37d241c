. "$(dirname "$0")/../../lib.sh"
again kc-identity-keycloak-0
ready mysql-0
said "OIDC discovery"
sleep 10

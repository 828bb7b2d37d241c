. "$(dirname "$0")/../../lib.sh"
said "Management interface listening" subject keycloak
again subject
said "Management interface listening" subject keycloak; sleep 6

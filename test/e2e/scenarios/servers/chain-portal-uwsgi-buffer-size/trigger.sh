. "$(dirname "$0")/../../lib.sh"
ready accounts
said "invalid HTTP request size" accounts
said "accounts does not answer"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said getaddrinfo accounts; sleep 6

. "$(dirname "$0")/../../lib.sh"
said "publishing to orders"; again subject; sleep 2

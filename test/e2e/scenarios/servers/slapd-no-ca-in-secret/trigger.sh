. "$(dirname "$0")/../../lib.sh"
said 'TLS init def ctx failed'; again subject

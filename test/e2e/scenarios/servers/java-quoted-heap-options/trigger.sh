. "$(dirname "$0")/../../lib.sh"
said "Could not find or load main class"
again subject

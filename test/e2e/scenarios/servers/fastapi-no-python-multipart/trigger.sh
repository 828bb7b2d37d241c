. "$(dirname "$0")/../../lib.sh"
said 'python-multipart'; again subject

. "$(dirname "$0")/../../lib.sh"
said 'unable to configure authorization'; again subject

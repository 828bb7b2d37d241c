. "$(dirname "$0")/../../lib.sh"
said 'working directory is not writable'; again subject

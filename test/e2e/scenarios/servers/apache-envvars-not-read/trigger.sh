. "$(dirname "$0")/../../lib.sh"
said "DefaultRuntimeDir"
again subject; sleep 4

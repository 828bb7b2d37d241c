. "$(dirname "$0")/../../lib.sh"
again sessions
said "+sdown master" sentinel
said "No master found"; sleep 6

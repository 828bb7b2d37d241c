. "$(dirname "$0")/../../lib.sh"
said "no routes from contour" routes
said '"status":503'; sleep 10

. "$(dirname "$0")/../../lib.sh"
said "Booting worker"; said "Booting worker" shop-admin; again sessions; sleep 5

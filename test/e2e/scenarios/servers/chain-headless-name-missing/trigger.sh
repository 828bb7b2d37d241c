. "$(dirname "$0")/../../lib.sh"
said "vouchers: listening" vouchers-0
said "vouchers:8080/health"; sleep 20

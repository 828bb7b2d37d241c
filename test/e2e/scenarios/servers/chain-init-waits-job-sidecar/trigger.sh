. "$(dirname "$0")/../../lib.sh"
until k logs job/migrate -c migrate 2>/dev/null | grep -q "migrated to 42"; do sleep 1; done
said "waiting for job migrate: active=1" subject wait-for-migrate; sleep 12

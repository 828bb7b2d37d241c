. "$(dirname "$0")/../lib.sh"
for p in subject second third; do ready $p; done
k delete pod db

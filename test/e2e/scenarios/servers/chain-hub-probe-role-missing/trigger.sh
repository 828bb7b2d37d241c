. "$(dirname "$0")/../../lib.sh"
again subject
until_true test "$(k get pod hub-database -o jsonpath='{.status.phase}')" = Running
sleep 20

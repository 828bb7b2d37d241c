. "$(dirname "$0")/../../lib.sh"
k wait job/warehouse-connector --for=condition=Complete --timeout=220s
ready
said "No space left on device" db
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 3

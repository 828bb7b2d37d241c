. "$(dirname "$0")/../../lib.sh"
k wait job/orders-import --for=condition=Complete --timeout=220s
said "could not resize shared memory segment" db
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 6

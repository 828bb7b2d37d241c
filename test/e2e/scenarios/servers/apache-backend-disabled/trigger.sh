. "$(dirname "$0")/../../lib.sh"
ready
# its node is drained, say
k delete pod shop-0 --wait=true
k wait pod/subject --for=condition=Ready=false --timeout=60s
until_true k wait pod/shop-0 --for=condition=Ready --timeout=60s
sleep 8

. "$(dirname "$0")/../../lib.sh"
ready catalog; ready
# What was well for less than a minute may have been about to fail anyway.
sleep 70
k patch configmap settings -p '{"data":{"settings.json":"{\n  \"currency\": \"EUR\",\n  \"pageSize\": 50,\n}\n"}}'
k wait pod/subject --for=condition=Ready=false --timeout=150s

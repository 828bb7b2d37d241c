. "$(dirname "$0")/../lib.sh"
ready
k create --raw "/api/v1/namespaces/$NS/pods/subject/eviction" -f - <<< "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"subject\",\"namespace\":\"$NS\"}}"
k wait pod/subject --for=delete --timeout=200s

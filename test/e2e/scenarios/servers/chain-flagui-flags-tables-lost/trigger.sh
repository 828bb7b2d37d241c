. "$(dirname "$0")/../../lib.sh"
ready ffs-postgres; ready featureflag; ready subject
k delete pod ffs-postgres
k create -f "$(dirname "$0")/manifest.yaml" >/dev/null 2>&1 || true
ready ffs-postgres
said 'relation "featureflags" does not exist' featureflag
k wait pod/subject --for=condition=Ready=false --timeout=60s

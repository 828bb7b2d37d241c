. "$(dirname "$0")/../../lib.sh"
until_true k wait pod/db --for=condition=Ready --timeout=120s
again subject; ready

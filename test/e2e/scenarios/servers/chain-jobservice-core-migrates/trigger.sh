. "$(dirname "$0")/../../lib.sh"
said 0030_artifact_digest core core
again core
said "core is not reachable"

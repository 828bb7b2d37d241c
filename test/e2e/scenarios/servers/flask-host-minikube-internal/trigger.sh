. "$(dirname "$0")/../../lib.sh"
said "host.minikube.internal"; sleep 8

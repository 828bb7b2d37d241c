. "$(dirname "$0")/../../lib.sh"
ready jenkins-0
said "jenkins is not reached" builds
said "builds is not ready"; sleep 8

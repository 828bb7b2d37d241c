. "$(dirname "$0")/../../lib.sh"
ready subject
# somebody exports, and again, because it takes so long
k exec subject -- sh -c 'for i in 1 2 3 4 5 6; do wget -q -T 100 -O /dev/null http://127.0.0.1:8080/work_packages.pdf & done; wait' >/dev/null 2>&1 &
said "A server is already running"; sleep 5

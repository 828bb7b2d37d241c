. "$(dirname "$0")/../lib.sh"
# The page goes in every run, after the probe has found it there; when the back-off
# has begun the container is still started again.
for run in 0 1 2 3; do
  until_true running_for 6
  until_true k exec subject -- sh -c 'rm /usr/share/nginx/html/index.html'
  while [ "$(restarts)" -le "$run" ]; do sleep 1; done
done

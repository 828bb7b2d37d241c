. "$(dirname "$0")/../lib.sh"
# The page goes in every run, after the probe has found it there; when the back-off
# has begun the container is still started again. kubelet may call the pod done after any of them.
over() { [ "$(k get pod subject -o jsonpath='{.status.phase}')" = Succeeded ]; }
for run in 0 1 2 3; do
  until over || running_for 6; do sleep 1; done
  until over || k exec subject -- sh -c 'rm /usr/share/nginx/html/index.html'; do sleep 1; done
  while [ "$(restarts)" -le "$run" ]; do
    if over; then exit; fi
    sleep 1
  done
done

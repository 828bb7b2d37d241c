. "$(dirname "$0")/../lib.sh"
k exec subject -- sh -c 'printf "#!/bin/sh\necho\necho ok\n" > /w/cgi-bin/h'
ready

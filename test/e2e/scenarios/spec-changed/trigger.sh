. "$(dirname "$0")/../lib.sh"
ready
k set image pod/subject c=shell:1

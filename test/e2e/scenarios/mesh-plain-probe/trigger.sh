. "$(dirname "$0")/../lib.sh"
join_mesh

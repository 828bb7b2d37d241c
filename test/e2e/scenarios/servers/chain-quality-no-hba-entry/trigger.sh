. "$(dirname "$0")/../../lib.sh"
ready quality-postgresql
said "no pg_hba.conf entry" quality-postgresql
said "quality server"; sleep 8

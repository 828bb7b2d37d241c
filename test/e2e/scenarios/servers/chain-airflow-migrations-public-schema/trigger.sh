. "$(dirname "$0")/../../lib.sh"
ready airflow-postgresql-0
said "permission denied for schema public" job/airflow-run-airflow-migrations
said "Waiting for migrations" subject wait-for-airflow-migrations; sleep 10

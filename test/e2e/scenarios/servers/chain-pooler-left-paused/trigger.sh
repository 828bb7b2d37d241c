. "$(dirname "$0")/../../lib.sh"
ready
k apply -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: maintenance}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: maintenance}}
    spec:
      terminationGracePeriodSeconds: 2
      restartPolicy: Never
      containers:
      - name: psql
        image: "postgres:1"
        command: ["sh", "-ex", "/srv/maintenance.sh"]
        volumeMounts: [{name: conf, mountPath: /srv}]
      volumes:
      - {name: conf, configMap: {name: conf}}
END
k wait job/maintenance --for=condition=Failed --timeout=60s
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 3

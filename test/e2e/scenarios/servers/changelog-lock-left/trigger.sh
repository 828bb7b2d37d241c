. "$(dirname "$0")/../../lib.sh"
ready db
said "Successfully acquired" migrate-41
k delete pod migrate-41 --grace-period=0 --force --wait=true
k apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: subject, labels: {app: subject}}
spec:
  terminationGracePeriodSeconds: 2
  initContainers:
  - name: migrate
    image: "postgres:1"
    command: ["sh", "/srv/migrate.sh"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  containers:
  - name: web
    image: "ruby:1"
    command: ["puma", "-b", "tcp://0.0.0.0:9292", "/srv/config.ru"]
    volumeMounts: [{name: conf, mountPath: /srv}]
  volumes:
  - {name: conf, configMap: {name: conf}}
END
said "Waiting for changelog lock" subject migrate; sleep 20

# The subject comes once its registry answers.
. "$(dirname "$0")/../lib.sh"
ready registry
k apply -f - <<'END'
apiVersion: v1
kind: Pod
metadata: {name: subject}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "127.0.0.1:15098/team/secret:1", command: ["sleep", "1000"]}
END

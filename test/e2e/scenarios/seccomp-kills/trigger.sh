. "$(dirname "$0")/../lib.sh"
mkdir -p "$DATA/node/seccomp"
echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_KILL_PROCESS"}]}' > "$DATA/node/seccomp/strict.json"
k apply -f - <<END
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep 2; exec mkdir /tmp/d"], securityContext: {seccompProfile: {type: Localhost, localhostProfile: strict.json}}}]}}
END

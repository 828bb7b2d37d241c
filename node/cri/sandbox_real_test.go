package cri_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/node/cri/critest"
)

// Every kind of sandbox starts with the seccomp profile of its own, and reaps under it.
func TestSandboxesStartWithTheirProfile(t *testing.T) {
	n := critest.Start(t)
	yes, uid, gid := true, int64(1234), int64(2345)
	for name, tt := range map[string]struct {
		change func(*v1.PodSpec)
		mode   string
	}{
		"plain":      {mode: "2"},
		"with users": {mode: "2", change: func(s *v1.PodSpec) { s.SecurityContext.RunAsUser, s.SecurityContext.RunAsGroup = &uid, &gid }},
		"with sysctls": {mode: "2", change: func(s *v1.PodSpec) {
			s.SecurityContext.Sysctls = []v1.Sysctl{{Name: "kernel.shm_rmid_forced", Value: "1"}}
		}},
		"in the host's namespaces": {mode: "2", change: func(s *v1.PodSpec) { s.HostNetwork, s.HostIPC = true, true }},
		"privileged": {mode: "0", change: func(s *v1.PodSpec) {
			s.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: &yes}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := n.RunPod(t, func(pod *v1.Pod) {
				pod.Spec.ShareProcessNamespace = &yes
				if tt.change != nil {
					tt.change(&pod.Spec)
				}
			}, critest.Sh("main", `p=$(sleep 0 >/dev/null & echo $!)
while [ -e /proc/$p ]; do sleep 0.05; done
sed -n "s/^Name:.//p; s/^Seccomp:.//p" /proc/1/status`))
			if got, want := critest.Log(t, p.Run("main", 0).LogPath), "pause\n"+tt.mode+"\n"; got != want {
				t.Errorf("the sandbox's name and seccomp mode are %q, not %q", got, want)
			}
		})
	}
}

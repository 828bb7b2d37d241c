package main

import (
	"strings"
	"testing"
)

// Whatever keeps the cgroups away, the advice is about that and nothing else.
func TestJudgeCgroups(t *testing.T) {
	all := []string{"cpuset", "cpu", "io", "memory", "pids"}
	for _, c := range []struct {
		name    string
		view    cgroupView
		verdict verdict
		fix     string // a part of it
		never   string
	}{
		{"version 2", cgroupView{version: 2, have: all}, found, "", "mount"},
		{"version 1", cgroupView{version: 1, have: all}, found, "", "mount"},
		{"ip netns exec", cgroupView{elsewhere: true, netns: "blue"}, missing, "nsenter --net=/run/netns/blue whylet up", "kernel command line"},
		{"unshare with a new /sys", cgroupView{elsewhere: true}, missing, "nsenter --mount=/proc/1/ns/mnt", "kernel command line"},
		{"a container without mounts", cgroupView{container: "/.dockerenv"}, missing, "--privileged", "kernel command line"},
		{"a container that was handed too little", cgroupView{version: 2, have: []string{"cpu", "pids"}, container: "/.dockerenv"}, missing, "--cgroupns=private", "kernel command line"},
		{"a small board's kernel", cgroupView{version: 2, have: []string{"cpu", "pids"}, disabled: []string{"memory"}}, missing, "cgroup_enable=memory", "--privileged"},
		{"a kernel without", cgroupView{version: 2, have: []string{"cpu", "memory"}}, missing, "CONFIG_CGROUP_PIDS", "kernel command line"},
		{"version 1, one not mounted", cgroupView{version: 1, have: []string{"cpu", "memory"}}, missing, "mount -t cgroup -o pids", "cgroup_enable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := judgeCgroups(c.view)
			if f.Verdict != c.verdict || !strings.Contains(f.Fix, c.fix) || strings.Contains(f.Fix, c.never) || c.verdict == found && f.Fix != "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

package fact

import (
	"strings"
	"testing"
)

func TestParseCgroup(t *testing.T) {
	id := strings.Repeat("0f", 32)
	for path, want := range map[string]Cgroup{
		"":                                   {},
		"/":                                  {},
		"/system.slice":                      {},
		"/kubepods":                          {},
		"/kubepods/burstable/podabc/":        {Pod: "abc"},
		"/kubepods/podabc-1":                 {Pod: "abc-1"},
		"/kubepods/burstable/podabc-1/" + id: {Pod: "abc-1", Container: id},
		"/whylet/kubepods/besteffort/podabc-1/" + id + "/init":                                                       {Pod: "abc-1", Container: id},
		"/kubepods.slice/kubepods-poda_1.slice/crio-" + id + ".scope":                                                {Pod: "a-1", Container: id},
		"/kubelet.slice/kubelet-kubepods.slice":                                                                      {},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_1.slice/cri-containerd-" + id + ".scope/x": {Pod: "a-1", Container: id},
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-poda_1.slice/cri-containerd-" + id + ".scope":        {Pod: "a-1", Container: id},
		"/podabc/" + id: {},
	} {
		if got := ParseCgroup(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

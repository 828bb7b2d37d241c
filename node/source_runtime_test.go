package node

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// The exit of one pod's container does not wait for what the kernel has to say of
// another's; what is told of one pod keeps its order.
func TestExitsDoNotWaitForEachOther(t *testing.T) {
	told, kernel := make(chan fact.Fact, 3), make(chan bool)
	s := &runtimeSource{
		submit: func(f fact.Fact) { told <- f },
		complete: func(e *fact.Exited) {
			if e.ContainerID == "slow" {
				<-kernel
			}
		},
		lanes: newLanes(t.Context()),
	}
	slow, quick := fact.Pod{UID: types.UID("slow")}, fact.Pod{UID: types.UID("quick")}
	s.tell(slow, func() { s.exited(cri.ContainerView{ID: "slow", Pod: slow}) })
	s.tell(slow, func() { s.submit(fact.Fact{Pod: slow, Body: fact.SandboxLost{}}) })
	s.tell(quick, func() { s.exited(cri.ContainerView{ID: "quick", Pod: quick}) })
	if f := <-told; f.Pod != quick {
		t.Fatalf("the first that was told is %+v", f)
	}
	close(kernel)
	for _, want := range []fact.Kind{fact.Exited{}.Kind(), fact.SandboxLost{}.Kind()} {
		if f := <-told; f.Pod != slow || f.Body.Kind() != want {
			t.Errorf("told %s of %s, not %s", f.Body.Kind(), f.Pod.UID, want)
		}
	}
	s.lanes.wait()
}

package node

import (
	"log/slog"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/sense"
)

func keepAll(f fact.Fact) fact.Fact { return f }

// A namespace's annotation holds on a node of Whylet's own: neither what comes in nor what is found at the start brings
// lines of a log into the journal.
func TestNamespaceWithoutLines(t *testing.T) {
	for says, want := range map[string]int{"": 1, "true": 1, "false": 0} {
		g := ground{client: fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Annotations: map[string]string{fact.LogLines: says}}})}
		l, r := testLoop(t)
		l.allowed = sense.NewNamespaces(g.annotations, slog.New(slog.DiscardHandler)).Keep
		toRunning(l)
		l.submit(of("c", 0, fact.Looked{PID: 3, Said: []string{"card 4111"}}))
		l.turn(l.waiting())
		l.take(of("c", 0, fact.Exited{ContainerID: "x://1", ExitCode: 1, LastLines: []string{"card 4111"}, LogEnd: &fact.LogEnd{Lines: []string{"card 4111"}}}))
		looks, exits := 0, 0
		for _, f := range r.facts {
			switch b := f.Body.(type) {
			case fact.Looked:
				if looks++; len(b.Said) != want {
					t.Errorf("log-lines %q: a look has %q", says, b.Said)
				}
			case fact.Exited:
				if exits++; len(b.LastLines) != want || (b.LogEnd != nil) != (want > 0) {
					t.Errorf("log-lines %q: an exit has %q and the end of its log %v", says, b.LastLines, b.LogEnd)
				}
			}
		}
		if looks != 1 || exits != 1 {
			t.Errorf("log-lines %q: %d looks and %d exits are written", says, looks, exits)
		}
	}
}

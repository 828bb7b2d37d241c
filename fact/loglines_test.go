package fact_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

func TestLogLinesAreLeftOut(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{fact.LogLines: "false"}}}
	if fact.KeepsLogLines(pod) || !fact.KeepsLogLines(nil) || !fact.KeepsLogLines(&v1.Pod{}) {
		t.Error("the annotation is not heeded")
	}
	at := []time.Time{time.Unix(1, 0)}
	b, _ := fact.WithoutLogLines(fact.Fact{Body: fact.Exited{ExitCode: 3, LastLines: []string{"x"}, LastLinesAt: at}}).Body.(fact.Exited)
	if b.LastLines != nil || b.LastLinesAt != nil || b.ExitCode != 3 {
		t.Errorf("%+v", b)
	}
	if !fact.HasLogLines(fact.Fact{Body: fact.Exited{LogEnd: &fact.LogEnd{Lines: []string{"x"}}}}) || fact.HasLogLines(fact.Fact{Body: b}) {
		t.Error("the end of a log is not seen, or seen where there is none")
	}
	l, _ := fact.WithoutLogLines(fact.Fact{Body: fact.Looked{PID: 3, Said: []string{"x"}, SaidAt: at}}).Body.(fact.Looked)
	if l.Said != nil || l.SaidAt != nil || l.PID != 3 {
		t.Errorf("%+v", l)
	}
}

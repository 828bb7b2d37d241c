package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/why/answer"
)

// canned is a cluster that gives prepared answers, the last one again and again.
type canned struct {
	*Node
	answers []any
	asked   int
}

func (c *canned) Sights() []Sight { return []Sight{ByNode} }

func (c *canned) Why(context.Context, Sight, string, string) ([]byte, error) {
	i := min(c.asked, len(c.answers)-1)
	c.asked++
	if err, ok := c.answers[i].(error); ok {
		return nil, err
	}
	return json.Marshal(c.answers[i])
}

// Every answer from the first symptom on is graded, not only the last.
func TestSample(t *testing.T) {
	right, wrong := answerOf(answer.Restarted, answer.MemoryLimit), answerOf(answer.Restarted, answer.AppHang)
	wrong.Verdicts[0].Certainty = answer.Recorded
	node := &canned{answers: []any{answerOf(answer.Healthy, answer.None), right, right, wrong, errors.New("it is down"), right}}
	s := &Suite{Node: node, Patience: time.Minute, Every: time.Millisecond, Window: 50 * time.Millisecond}
	c := &Scenario{Name: "one", Want: Expected{Subject: "pod/subject", Symptom: answer.Restarted, Cause: answer.MemoryLimit}}
	results := s.Sample(t.Context(), c, Live)
	if len(results) != 1 || len(results[0].Samples) < 5 {
		t.Fatalf("%+v", results)
	}
	all := results[0].Samples
	// The first right answer came before anything else showed the symptom.
	for i, want := range []Grade{Right, Wrong, Unknown, Right} {
		if all[i].Grade != want {
			t.Errorf("sample %d: %s, want %s: %s", i, all[i].Grade, want, all[i].Why)
		}
	}
	if !all[1].Overstated || all[0].Overstated || all[2].Why == "" || all[1].Text == "" || results[0].Grade != Right {
		t.Errorf("%+v", all)
	}
	if early := (Sample{After: time.Second}); early.Counts(Live) || !early.Counts(Deleted) {
		t.Error("the grace is for live trouble")
	}
}

// Trouble that never came about is not held against the answers.
func TestNoTrouble(t *testing.T) {
	node := &canned{answers: []any{answerOf(answer.Healthy, answer.None)}}
	s := &Suite{Node: node, Patience: 20 * time.Millisecond, Every: time.Millisecond, Window: time.Hour}
	c := &Scenario{Name: "one", Want: Expected{Subject: "pod/subject", Symptom: answer.Restarted, Cause: answer.MemoryLimit}}
	if r := s.Sample(t.Context(), c, Live); len(r) != 1 || len(r[0].Samples) != 0 || r[0].Err == nil {
		t.Errorf("%+v", r)
	}
}

// The API shows when there is something to ask about.
func TestSigns(t *testing.T) {
	const uid = `"metadata": {"name": "subject", "namespace": "ns", "uid": "1"}`
	pod := func(kind, status string) string {
		return fmt.Sprintf(`{"type": %q, "object": {"kind": "Pod", %s, "status": {%s}}}`, kind, uid, status)
	}
	const running = `"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": %d}], "conditions": [{"type": "Ready", "status": %q, "lastTransitionTime": "2026-11-23T10:00:05Z"}]`
	warned := func(at string) string {
		return `{"type": "ADDED", "object": {"kind": "Event", "type": "Warning", "reason": "Unhealthy", "lastTimestamp": "2026-11-23T` + at + `Z", "involvedObject": {"namespace": "ns", "name": "subject"}}}`
	}
	initially := func(policy string, ago time.Duration) string {
		return fmt.Sprintf(`{"type": "ADDED", "object": {"kind": "Pod", %s, "spec": {"initContainers": [{"name": "i"%s}]}, "status": {"initContainerStatuses": [{"name": "i", "state": {"running": {"startedAt": %q}}}]}}}`,
			uid, policy, time.Now().Add(-ago).UTC().Format(time.RFC3339))
	}
	for _, c := range []struct {
		name    string
		symptom answer.SymptomKind
		watch   []string
		shown   bool
	}{
		{"nothing yet", answer.Restarted, nil, false},
		{"it runs", answer.Restarted, []string{pod("ADDED", fmt.Sprintf(running, 0, "True"))}, false},
		{"it was restarted", answer.Restarted, []string{pod("ADDED", fmt.Sprintf(running, 1, "True"))}, true},
		{"it starts", answer.NotReady, []string{pod("ADDED", fmt.Sprintf(running, 0, "False"))}, false},
		{"it was ready", answer.NotReady, []string{pod("ADDED", fmt.Sprintf(running, 0, "True")), pod("MODIFIED", fmt.Sprintf(running, 0, "False"))}, true},
		{"a probe failed", answer.NotReady, []string{pod("ADDED", fmt.Sprintf(running, 0, "False")), warned("10:00:04")}, true},
		{"a probe failed while it started, told late", answer.NotReady, []string{pod("ADDED", fmt.Sprintf(running, 0, "True")), warned("10:00:04")}, false},
		{"a probe failed after it was ready", answer.NotReady, []string{warned("10:00:07"), pod("ADDED", fmt.Sprintf(running, 0, "True"))}, true},
		{"another symptom", answer.Evicted, []string{pod("ADDED", fmt.Sprintf(running, 1, "False")), warned("10:00:04")}, false},
		{"it is gone", answer.Disappeared, []string{pod("ADDED", ""), pod("DELETED", "")}, true},
		{"it waits for an image", answer.NotStarting, []string{pod("ADDED", `"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ErrImagePull"}}}]`)}, true},
		{"it is being made", answer.NotStarting, []string{pod("ADDED", `"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}]`)}, false},
		{"an init container goes on", answer.NotStarting, []string{initially("", time.Minute)}, true},
		{"an init container has begun", answer.NotStarting, []string{initially("", time.Second)}, false},
		{"a sidecar goes on", answer.NotStarting, []string{initially(`, "restartPolicy": "Always"`, time.Minute)}, false},
		{"no node", answer.Pending, []string{pod("ADDED", `"conditions": [{"type": "PodScheduled", "status": "False"}]`)}, true},
		{"well", answer.Healthy, []string{pod("ADDED", fmt.Sprintf(running, 0, "True"))}, true},
	} {
		s := &signs{pods: map[string]*sign{}}
		s.read(strings.NewReader(strings.Join(c.watch, "\n")))
		want := Expected{Symptom: c.symptom, Cause: answer.None, Container: "c"}
		if got := s.shows("ns", "pod/subject", want); got != c.shown {
			t.Errorf("%s: shown: %v", c.name, got)
		}
		if s.shows("other", "pod/subject", want) {
			t.Errorf("%s: shown in another namespace", c.name)
		}
	}
	s := &signs{}
	s.pods = map[string]*sign{}
	s.read(strings.NewReader(strings.ReplaceAll(pod("ADDED", fmt.Sprintf(running, 2, "True")), `"subject"`, `"subject-5d-x2"`)))
	if !s.shows("ns", "deployment/subject", Expected{Symptom: answer.Restarted}) {
		t.Error("a Deployment's pods are not its own")
	}
}

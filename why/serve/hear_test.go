package serve

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// TestLogOfAReadyPod: where its log can be read, it is.
func TestLogOfAReadyPod(t *testing.T) {
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	v := &villager{b: t, j: j, state: health.New(health.Policy{}), now: time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC), pod: fact.Pod{Namespace: "shop", Name: "web", UID: "u"}}
	v.see("", fact.SpecSeen{Source: "api", Object: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: 1},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "app", Image: "app:1"}}},
	}})
	v.see("", fact.Admitted{})
	q := Question{Namespace: "shop", Name: "web"}
	q.Now = v.now.Add(time.Hour)
	for _, c := range []struct {
		errors int
		kind   answer.SymptomKind
		says   string
	}{
		{0, answer.Healthy, "few checks were possible"},
		{120, answer.Degraded, "repeats an error (120 times since 05:50:05, last just now)"},
		{1, answer.Healthy, "logged an error (once, just now): ERROR cannot write invoice 4711"},
	} {
		q.LogOf = func(pod *v1.Pod, container string, attempt int32) (lines []string, at []time.Time, ok bool) {
			if pod.UID != "u" || container != "app" || attempt != 0 {
				t.Error(pod.UID, container, attempt)
			}
			for d := 10 * time.Minute; d > 0; d -= time.Second {
				lines, at = append(lines, "INFO invoice rendered"), append(at, q.Now.Add(-d))
			}
			for i := range c.errors {
				lines, at = append(lines, "ERROR cannot write invoice 4711"), append(at, q.Now.Add(-5*time.Second*time.Duration(c.errors-1-i)))
			}
			return lines, at, c.errors > 0
		}
		a, err := One(j, q)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(a.Text(answer.Style{})), " "); a.Symptoms[0].Kind != c.kind || !strings.Contains(text, c.says) {
			t.Errorf("%s is missing:\n%s", c.says, a.Text(answer.Style{}))
		}
	}
}

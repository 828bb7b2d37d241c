package front

import (
	"encoding/json"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
)

// What an agent says is either sound, and then about the pod it is said to be about, or it
// is refused.
func FuzzSound(f *testing.F) {
	p := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}, time.Unix(0, 0), answer.Coverage{})
	a.Put(answer.Symptom{Kind: answer.Restarted}, answer.Verdict{Cause: answer.AppExitError})
	text, err := json.Marshal(a)
	if err != nil {
		f.Fatal(err)
	}
	message, err := json.Marshal(link.ToFront{Standing: &link.Standing{Pods: []link.Pod{{Pod: p, Answer: text}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add([]byte(`{"standing":{"pods":[{"namespace":"shop","name":"web-1","uid":"u","answer":{"symptoms":[{}],"verdicts":[]}}]}}`))
	f.Add([]byte(`{"ended":{"pod":{},"answer":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m link.ToFront
		if json.Unmarshal(raw, &m) != nil || m.Standing == nil {
			return
		}
		h := New(Options{})
		h.nodes["node-a"] = &nodeState{name: "node-a", pods: map[uidOf]*podState{}}
		for _, p := range m.Standing.Pods {
			if sound(p.Pod, p.Answer) != nil {
				continue
			}
			h.put("node-a", p, true)
			h.put("node-a", p, true)
			h.Each(func(_ string, a answer.Answer) {
				if s := a.Subject; len(a.Symptoms) != len(a.Verdicts) || h.pods[s.UID].pod.Name != s.Name || h.pods[s.UID].pod.Namespace != s.Namespace {
					t.Errorf("%+v is told of %+v", s, h.pods[s.UID].pod)
				}
			})
			h.went("node-b", p.UID)
			if h.pods[p.UID] == nil {
				t.Error("another node took it away")
			}
		}
		for _, p := range m.Standing.Pods {
			h.went("node-a", p.UID)
		}
		if len(h.pods) != 0 || len(h.names) != 0 {
			t.Errorf("%d pods and %d names are left", len(h.pods), len(h.names))
		}
	})
}

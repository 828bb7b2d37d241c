package web

import (
	"errors"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/why/answer"
)

// What needs somebody is told in the given order, once each, and leads to its page;
// what is well is counted; and what a pod is called or says stays text.
func TestOverview(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	of := func(name string, kind answer.SymptomKind, v answer.Verdict) answer.Answer {
		a := answer.Answer{Subject: answer.Subject{Kind: "Pod", Namespace: "shop", Name: name}}
		a.Put(answer.Symptom{Kind: kind, Last: now.Add(-time.Minute)}, v)
		return a
	}
	twice := of("web-1", answer.Restarted, answer.Verdict{Cause: answer.MemoryLimit, Certainty: answer.Recorded, Text: "It was OOM-killed."})
	twice.Put(answer.Symptom{Kind: answer.NotReady}, answer.Verdict{Cause: answer.CauseUnknown, Certainty: answer.Unknown, Text: "<script>alert(1)</script>"})
	var b strings.Builder
	err := WriteOverview(&b, Overview{AsOf: now, Missing: errors.New("node b <did> not answer"), Answers: []answer.Answer{
		of("db-0", answer.Evicted, answer.Verdict{Cause: answer.EvictedDisk, Text: "It was evicted."}), twice,
		of("fine-1", answer.Healthy, answer.Verdict{Cause: answer.None}),
		{Well: 3},
	}})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	last := 0
	for _, want := range []string{
		"2 of 6 pods, the worst first.", "node b &lt;did&gt; not answer",
		`<a href="page?kind=pod&amp;name=db-0&amp;namespace=shop">pod shop/db-0</a>`, "It was evicted.",
		"name=web-1", "It was OOM-killed.", "cause: container-memory-limit, recorded, last 60 s ago", "&lt;script&gt;alert(1)&lt;/script&gt;",
	} {
		at := strings.Index(page[last:], want)
		if at < 0 {
			t.Fatalf("no %q after %q", want, page[max(0, last-100):])
		}
		last += at
	}
	if strings.Count(page, "<h2>") != 2 || strings.Contains(page, "<script") || !strings.Contains(page, "default-src &#39;none&#39;; style-src &#39;sha256-") {
		t.Error(page)
	}
}

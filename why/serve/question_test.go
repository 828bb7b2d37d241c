package serve

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
	"whylet.dev/whylet/why"
)

// Whatever is asked arrives as it was meant.
func TestQuestionRoundTrip(t *testing.T) {
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	text := rapid.StringMatching(`[a-z&= %+ü.-]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		q := Question{
			Namespace: text.Draw(t, "namespace"), Name: "p" + text.Draw(t, "name"),
			UID: types.UID(text.Draw(t, "uid")), Owner: types.UID(text.Draw(t, "owner")),
			Node: rapid.Bool().Draw(t, "node"), Look: rapid.Bool().Draw(t, "look"),
			WhatIf: text.Draw(t, "what if"), Suggest: rapid.Bool().Draw(t, "suggest"),
			Options: why.Options{Now: now, Container: text.Draw(t, "container"), Alone: rapid.Bool().Draw(t, "alone")},
		}
		if ago := rapid.Int64Range(0, int64(300*time.Hour)).Draw(t, "ago"); ago > 0 {
			q.Since = now.Add(-time.Duration(ago))
		}
		got, err := ParseQuestion(q.Values(), now)
		if diff := cmp.Diff(q, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// Whatever comes as a question is understood or refused, and what was understood is
// asked on as it came.
func FuzzParseQuestion(f *testing.F) {
	f.Add("namespace=a&name=b&uid=c&since=2h&alone=true&whatif=memory%3D1Gi")
	f.Add("kind=node&name=n&since=-1h")
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q, err := ParseQuestion(v, now)
		if err != nil {
			return
		}
		again, err := ParseQuestion(q.Values(), now)
		if diff := cmp.Diff(q, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

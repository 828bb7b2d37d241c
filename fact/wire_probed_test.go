package fact

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyAttempt is a probe attempt with anything in it.
func anyAttempt(t *rapid.T) Probed {
	took := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "took")) })
	p := Probed{
		Probe: ProbeKind(texts.Draw(t, "probe")), Verdict: Verdict(texts.Draw(t, "verdict")), Message: texts.Draw(t, "message"),
		Took: took.Draw(t, "took"), Late: took.Draw(t, "late"),
		Count: rapid.Int64().Draw(t, "count"), Latency: rapid.SliceOf(rapid.Int64()).Draw(t, "latency"),
		By: ProbedBy(texts.Draw(t, "by")),
	}
	if rapid.Bool().Draw(t, "seen") {
		p.Evidence = &Evidence{
			Handler: Handler(texts.Draw(t, "handler")), Target: texts.Draw(t, "target"), Local: texts.Draw(t, "local"), Remote: texts.Draw(t, "remote"),
			Connect: took.Draw(t, "connect"), TLS: took.Draw(t, "tls"), Sent: took.Draw(t, "sent"),
			FirstByte: took.Draw(t, "first byte"), Body: took.Draw(t, "body"),
			Status: rapid.Int().Draw(t, "status"), Proto: texts.Draw(t, "proto"), Header: rapid.MapOf(texts, texts).Draw(t, "header"),
			Output: texts.Draw(t, "output"), ExitCode: rapid.Ptr(rapid.Int(), true).Draw(t, "exit code"),
			Timeout: rapid.Bool().Draw(t, "timeout"), Error: texts.Draw(t, "error"), Errno: texts.Draw(t, "errno"),
		}
	}
	if rapid.Bool().Draw(t, "folded") {
		p.Until = time.Unix(0, rapid.Int64Range(-1e18, 4e18).Draw(t, "until")).UTC()
	}
	return p
}

// What is written by hand must be what encoding/json would write.
func TestAttemptsAreEncodedAsByReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyAttempt(t)
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		if got := p.appendJSON(nil, &failed); failed != nil || !bytes.Equal(got, want) {
			t.Errorf("%v\ngot  %s\nwant %s", failed, got, want)
		}
	})
}

func BenchmarkAttempt(b *testing.B) {
	f := Fact{
		ID: 7, At: time.Unix(1, 2).UTC(), Seen: time.Unix(1, 3).UTC(), Mono: 5, Boot: "boot", Pod: Pod{"default", "app", "uid"}, Container: "c",
		Body: Probed{Probe: Liveness, Verdict: Success, Took: 3, Evidence: &Evidence{
			Handler: "httpGet", Target: "http://10.42.0.7:80/", Local: "10.42.0.1:40000", Remote: "10.42.0.7:80",
			Connect: 1, Sent: 2, FirstByte: 3, Body: 4, Status: 200, Proto: "HTTP/1.1", Header: map[string]string{"Content-Type": "text/html"}, Output: "fine\n",
		}},
	}
	var buffer []byte
	for b.Loop() {
		var err error
		if buffer, err = f.AppendJSON(buffer[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

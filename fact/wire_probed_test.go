package fact

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is written by hand must be what encoding/json would write.
func TestAttemptsAreEncodedAsByReflection(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "app", `a"b\c`, "<&>", "\x00\x7f", "\xff", "Größe", "\u2028"}), rapid.String())
	took := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "took")) })
	evidence := rapid.Custom(func(t *rapid.T) *Evidence {
		return &Evidence{
			Handler: Handler(text.Draw(t, "handler")), Target: text.Draw(t, "target"), Local: text.Draw(t, "local"), Remote: text.Draw(t, "remote"),
			Connect: took.Draw(t, "connect"), TLS: took.Draw(t, "tls"), Sent: took.Draw(t, "sent"),
			FirstByte: took.Draw(t, "first byte"), Body: took.Draw(t, "body"),
			Status: rapid.Int().Draw(t, "status"), Proto: text.Draw(t, "proto"), Header: rapid.MapOf(text, text).Draw(t, "header"),
			Output: text.Draw(t, "output"), ExitCode: rapid.Ptr(rapid.Int(), true).Draw(t, "exit code"),
			Timeout: rapid.Bool().Draw(t, "timeout"), Error: text.Draw(t, "error"), Errno: text.Draw(t, "errno"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Probed{
			Probe: ProbeKind(text.Draw(t, "probe")), Verdict: Verdict(text.Draw(t, "verdict")), Message: text.Draw(t, "message"),
			Took: took.Draw(t, "took"), Late: took.Draw(t, "late"),
			Count: rapid.Int64().Draw(t, "count"), Latency: rapid.SliceOf(rapid.Int64()).Draw(t, "latency"),
			By: ProbedBy(text.Draw(t, "by")),
		}
		if rapid.Bool().Draw(t, "seen") {
			p.Evidence = evidence.Draw(t, "evidence")
		}
		if rapid.Bool().Draw(t, "folded") {
			p.Until = time.Unix(0, rapid.Int64Range(-1e18, 4e18).Draw(t, "until")).UTC()
		}
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

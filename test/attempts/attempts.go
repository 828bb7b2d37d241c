// Package attempts makes probe attempts of pods, for the tests of what keeps them.
package attempts

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Day is when the tests' world begins.
var Day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Pod is pod number i.
func Pod(i int) fact.Pod {
	return fact.Pod{
		Namespace: "shop", Name: fmt.Sprintf("web-%d", i),
		UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
	}
}

// Failure is a failed probe of a pod, at a second of the test's day.
func Failure(id fact.ID, pod fact.Pod, second int) fact.Fact {
	at := Day.Add(time.Duration(second) * time.Second)
	return fact.Fact{
		ID: id, At: at, Seen: at.Add(3 * time.Millisecond), Mono: time.Hour + at.Sub(Day), Boot: "b007",
		Pod: pod, Container: "app",
		Body: fact.Probed{
			Probe: fact.Readiness, Verdict: fact.Failure, Message: "HTTP probe failed with statuscode: 503",
			Took: 2 * time.Millisecond, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.7:8080/ready", Status: 503},
		},
	}
}

// Success is a success of the pod's liveness probe.
func Success(id fact.ID, pod fact.Pod, second int) fact.Fact {
	f := Failure(id, pod, second)
	f.Body = fact.Probed{
		Probe: fact.Liveness, Verdict: fact.Success, Took: time.Duration(1+second%40) * time.Millisecond,
		Evidence: &fact.Evidence{
			Handler: fact.HTTPGet, Target: "http://10.0.0.7:8080/live", Remote: "10.0.0.7:8080", Status: 200, Proto: "HTTP/1.1",
			Local:   fmt.Sprintf("10.0.0.1:%d", 30000+second%20000),
			Connect: 100 * time.Microsecond, Sent: 120 * time.Microsecond, FirstByte: 800 * time.Microsecond,
			Header: map[string]string{"Server": "nginx", "Content-Type": "text/html"}, Output: "ok",
		},
	}
	return f
}

// Successes counts the attempts behind facts, folded ones too.
func Successes(fs []fact.Fact) (n int) {
	for _, f := range fs {
		if p, ok := f.Body.(fact.Probed); ok && p.Verdict == fact.Success {
			n += int(max(p.Count, 1))
		}
	}
	return n
}

package reported

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

func TestWhatKubeletSaysOfAnAttempt(t *testing.T) {
	exec := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{}}}
	grpc := &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{}}}
	for _, c := range []struct {
		spec    *v1.Probe
		said    string
		status  int
		errno   string
		timeout bool
		remote  string
	}{
		{nil, "HTTP probe failed with statuscode: 503", 503, "", false, ""},
		{nil, `Get "http://10.86.0.6:8080/": dial tcp 10.86.0.6:8080: connect: connection refused`, 0, "ECONNREFUSED", false, "10.86.0.6:8080"},
		{nil, `Get "http://10.86.0.6:8080/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`, 0, "", true, "10.86.0.6:8080"},
		{nil, `dial tcp 10.86.0.6:8080: i/o timeout`, 0, "", true, "10.86.0.6:8080"},
		{nil, `dial tcp [fd00::6]:8080: connect: no route to host`, 0, "EHOSTUNREACH", false, "[fd00::6]:8080"},
		{nil, `Get "http://10.86.0.6:8080/": read tcp 10.86.0.1:4->10.86.0.6:8080: read: connection reset by peer`, 0, "ECONNRESET", false, "10.86.0.6:8080"},
		{exec, `command timed out: "sleep 5" timed out after 1s`, 0, "", true, ""},
		{grpc, `timeout: failed to connect service "10.86.0.6:5000" within 1s: context deadline exceeded`, 0, "", true, ""},
		// kubelet 1.38 no longer dials until its patience ends
		{grpc, `error: failed to connect service at "10.86.0.6:5000": connection error: desc = "transport: Error while dialing: dial tcp 10.86.0.6:5000: connect: connection refused"`, 0, "ECONNREFUSED", false, ""},
		{grpc, `timeout: health rpc did not complete within 1s`, 0, "", true, ""},
		{grpc, `service unhealthy (responded with "NOT_SERVING")`, 0, "", false, ""},
	} {
		b := Attempt(fact.Liveness, c.spec, c.said, false)
		e := b.Evidence
		if e.Status != c.status || e.Errno != c.errno || e.Timeout != c.timeout || e.Connect != 0 || e.Remote != c.remote || b.By != fact.BySay {
			t.Errorf("%s\n%+v", c.said, e)
		}
	}
}

// What kubelet met where it was sent is not about the port that the probe names.
func TestARedirectIsNoPortOfTheProbe(t *testing.T) {
	spec := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}}
	own := Attempt(fact.Readiness, spec, `Get "http://10.86.0.6:8080/": dial tcp 10.86.0.6:8080: connect: connection refused`, false)
	if own.Evidence.Redirected != "" || own.Evidence.Target == "" {
		t.Errorf("%+v", own.Evidence)
	}
	sent := Attempt(fact.Readiness, spec, `Get "https://10.86.0.6/": dial tcp 10.86.0.6:443: connect: connection refused`, false)
	if sent.Evidence.Redirected != "https://10.86.0.6/" || sent.Evidence.Target != "http://10.86.0.6:8080/" || sent.Evidence.Errno != "ECONNREFUSED" {
		t.Errorf("%+v", sent.Evidence)
	}
}

func TestUnhealthyEventsAreRead(t *testing.T) {
	kind, output, errored, ok := Unhealthy("(combined from similar events): Readiness probe failed: HTTP probe failed with statuscode: 503")
	if !ok || kind != fact.Readiness || output != "HTTP probe failed with statuscode: 503" || errored {
		t.Errorf("%s %q %v %v", kind, output, errored, ok)
	}
	if kind, output, errored, ok = Unhealthy("Liveness probe errored and resulted in unknown state: rpc error"); !ok || kind != fact.Liveness || output != "rpc error" || !errored {
		t.Errorf("%s %q %v %v", kind, output, errored, ok)
	}
	if _, _, _, ok = Unhealthy("Back-off restarting failed container"); ok {
		t.Error("no word about a probe")
	}
}

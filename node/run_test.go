package node

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
)

// A runtime that is not there is waited for, and named when the wait is over.
func TestRunWithoutRuntime(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := Run(ctx, Config{
		Name: "n", DataDir: filepath.Join(dir, "node"), PodLogsDir: filepath.Join(dir, "logs"),
		RuntimeEndpoint: "unix://" + filepath.Join(dir, "none.sock"), API: &rest.Config{Host: "http://127.0.0.1:1"},
	})
	if err == nil || !strings.Contains(err.Error(), "none.sock") {
		t.Errorf("it says %v", err)
	}
}

// The agent remembers that its control plane ended, and nothing of an ordinary stop.
func TestAgentStopped(t *testing.T) {
	since := time.Date(2026, 5, 1, 6, 0, 0, 0, time.UTC)
	ended := &ControlPlaneEnded{Since: since, Err: errors.New("the disk was full")}
	if got, want := agentStopped(ended), (fact.AgentStopped{Reason: "the disk was full", Since: since}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := agentStopped(context.Canceled); got != (fact.AgentStopped{}) {
		t.Errorf("%+v of an ordinary stop", got)
	}
}

// A machine that is shut down in order ends the agent first, in order too: that it was
// a restart of the machine is what matters for the containers.
func TestPrevious(t *testing.T) {
	for want, last := range map[fact.AgentEnd]fact.Fact{
		fact.RunKilled:   {Boot: "b", Body: fact.NodeSignals{}},
		fact.RunClean:    {Boot: "b", Body: fact.AgentStopped{}},
		fact.RunRebooted: {Boot: "a", Body: fact.AgentStopped{}},
	} {
		if got := previous(last, "b"); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if got := previous(fact.Fact{Boot: "a", Body: fact.NodeSignals{}}, "b"); got != "reboot" {
		t.Error(got)
	}
}

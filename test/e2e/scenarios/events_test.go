package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/why/answer"
)

// A kubelet that lives by the runtime's events (EventedPLEG) gets all of them with the agent
// beside it: it looks at the runtime by itself every five minutes only, so it would hear of
// an end that the agent took from it much later.
func TestObserveEvents(t *testing.T) {
	if os.Getenv("WHYLET_OBSERVE") == "" {
		t.Skip("it runs a real kubelet with the agent beside it: make test-observe")
	}
	node := besideKubelet(t, nil, "featureGates: {EventedPLEG: true}")
	stack := node.stack
	const pods = 8
	var manifest strings.Builder
	for i := range pods {
		fmt.Fprintf(&manifest, `---
{apiVersion: v1, kind: Pod, metadata: {name: ends-%d}, spec: {restartPolicy: Never, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep %d; exit 3"]}]}}
`, i, 2+i)
	}
	if err := stack.Namespace(t.Context(), "events"); err != nil {
		t.Fatal(err)
	}
	if out, err := node.Run(t.Context(), manifest.String(), "kubectl", "-n", "events", "apply", "-f", "-"); err != nil {
		t.Fatal(string(out), err)
	}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := eventually(within, time.Second, func() error {
		out, err := node.Run(within, "", "kubectl", "-n", "events", "get", "pods", "-o", "jsonpath={.items[*].status.phase}")
		if got := strings.Count(string(out), "Failed"); err == nil && got < pods {
			err = fmt.Errorf("kubelet has heard of %d ends of %d: %s", got, pods, out)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for i := range pods {
		var a answer.Answer
		out, err := node.Why(t.Context(), ByAgent, fmt.Sprintf("pod/ends-%d", i), "events")
		if json.Unmarshal(out, &a) != nil || len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.AppExitError {
			t.Errorf("%v: %s", err, out)
		}
	}
	if page, err := stack.Command(t.Context(), "curl", "-sk", "https://127.0.0.1:10250/metrics").Output(); err != nil || !strings.Contains(string(page), "\nkubelet_evented_pleg_connection_success_count 1\n") {
		t.Error("it is not shown that kubelet had a stream of events:", err)
	}
}

package skew

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestHelmRollback: the real Helm upgrades the chart of the release before to this one, and
// goes back, before a real API server, which refuses to change what cannot be changed. The front's
// authority is renewed on the way up, known beside the one before, and the one before is back
// after the rollback.
func TestHelmRollback(t *testing.T) {
	helm, before := os.Getenv("WHYLET_SKEW_HELM"), os.Getenv("WHYLET_SKEW_CHART")
	if helm == "" || before == "" {
		t.Skip("it needs Helm and the chart of the release before: make test-skew")
	}
	c := newCluster(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), helm, append(args, "-n", "whylet", "--kubeconfig", c.kubeconfig)...)
		cmd.Env = append(os.Environ(), "HOME="+c.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	authority := func() (key, known string) {
		t.Helper()
		secret, err := c.kube.Client.CoreV1().Secrets("whylet").Get(t.Context(), "whylet-front", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		agents, err := c.kube.Client.CoreV1().ConfigMaps("whylet").Get(t.Context(), "whylet-front", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(secret.Data["tls.key"]), agents.Data["ca.crt"]
	}
	if err := c.kube.Client.CoreV1().ServiceAccounts("whylet").Delete(t.Context(), "whylet-agent", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err) // the chart's own comes in its place
	}
	run("install", "whylet", before, "--set", "front.deletions=true")
	oldKey, oldKnown := authority()
	run("upgrade", "whylet", "../../deploy/chart/whylet", "--set", "front.deletions=true")
	newKey, newKnown := authority()
	if newKey == oldKey || !strings.Contains(newKnown, strings.TrimSpace(oldKnown)) {
		t.Error("an authority for a century is not replaced, or forgotten too early")
	}
	run("upgrade", "whylet", "../../deploy/chart/whylet", "--set", "front.deletions=true")
	if key, _ := authority(); key != newKey {
		t.Error("another authority with each upgrade")
	}
	run("rollback", "whylet", "1")
	if key, known := authority(); key != oldKey || known != oldKnown {
		t.Error("the authority is not that of the release before")
	}
	agent, err := c.kube.Client.AppsV1().DaemonSets("whylet").Get(t.Context(), "whylet-agent", metav1.GetOptions{})
	if err != nil || agent.Spec.Template.Spec.Volumes[0].HostPath.Type == nil {
		t.Errorf("the agents are not those of the release before: %v", err)
	}
	run("upgrade", "whylet", "../../deploy/chart/whylet", "--set", "front.deletions=true")
	run("uninstall", "whylet")
}

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// ownTag is that of the images that the test installs: no release has it, so that nothing
// is pulled.
const ownTag = "e2e"

// hostFolder is where agents keep their memory: the one thing that they make on a node.
const hostFolder = "/var/lib/whylet-observe"

// installing is held by the test whose agents the node has: there is one folder for them.
var installing sync.Mutex

// installsAgents brings the images to a node, and waits until no other test has agents on the
// machine. What it gives is to be called at the end.
func installsAgents(t *testing.T, n *node) (done func()) {
	t.Helper()
	installing.Lock()
	unlock := sync.OnceFunc(installing.Unlock)
	t.Cleanup(unlock) // also where it is skipped
	if _, err := os.Stat(hostFolder); err == nil {
		t.Skip("this machine has agents of its own: " + hostFolder)
	}
	for _, name := range []string{"observe", "front"} {
		image := filepath.Join(bin("oci"), "whylet-"+name+".tar")
		if _, err := os.Stat(image); err != nil {
			t.Skip("make image makes what is installed")
		}
		if out, code := n.whylet(t, "image", "load", "--data-dir", n.data(), "--name", "whylet.dev/"+name+":"+ownTag, image); code != 0 {
			t.Fatalf("the image cannot be loaded: %s", out)
		}
	}
	return func() {
		_ = os.RemoveAll(hostFolder)
		unlock()
	}
}

// TestInstallAgents puts agents into a cluster by kubectl why, looks at what they see, and
// takes them away again: nothing may be left, on the node neither.
func TestInstallAgents(t *testing.T) {
	t.Parallel()
	defer installsAgents(t, shared)()
	why := func(args ...string) (string, error) {
		out, err := shared.command(t.Context(), bin("kubectl-why"), args...).CombinedOutput()
		return string(out), err
	}
	if out, err := why("install", "--tag", ownTag, "--yes", "--deletions"); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	out, err := why("doctor")
	if err != nil {
		t.Errorf("doctor: %v", err)
	}
	contains(t, out, "(1 node)", "container runtime", "wait statuses")
	if out, err := why("install", "--tag", ownTag, "--yes"); err != nil {
		t.Errorf("a second time: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(hostFolder, "journal")); err != nil {
		t.Errorf("the agent has no memory: %v", err)
	}
	tellsOfDeletions(t)
	if out, err := why("uninstall", "--yes"); err != nil {
		t.Fatalf("uninstall: %v\n%s", err, out)
	}
	if _, err := os.Stat(hostFolder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there still: %v", hostFolder, err)
	}
	nothingIsLeft(t, shared)
}

// nothingIsLeft looks for objects that an installation leaves.
func nothingIsLeft(t *testing.T, n *node) {
	t.Helper()
	left, err := n.command(t.Context(), bin("kubectl"), "get", "-A", "-l", "app.kubernetes.io/name=whylet", "-o", "name",
		"ns,ds,deploy,pods,services,pdb,networkpolicies,sa,secrets,configmaps,rolebindings,clusterroles,clusterrolebindings,priorityclasses,validatingwebhookconfigurations").Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	if len(strings.TrimSpace(string(left))) > 0 {
		t.Errorf("left over:\n%s", left)
	}
}

// tellsOfDeletions waits until the API server has told the front who deletes a pod, which
// it counts itself.
func tellsOfDeletions(t *testing.T) {
	t.Helper()
	kubectl := func(args ...string) string {
		out, _ := shared.command(t.Context(), bin("kubectl"), args...).CombinedOutput()
		return string(out)
	}
	told := regexp.MustCompile(`apiserver_admission_webhook_request_total\{code="200",name="deletions.why.whylet.dev",operation="DELETE",rejected="false"`)
	for end := time.Now().Add(30 * time.Second); !told.MatchString(kubectl("get", "--raw", "/metrics")); {
		if time.Now().After(end) {
			t.Fatal("the API server did not reach the front's webhook")
		}
		kubectl("run", "whylet-test-gone", "-n", "default", "--image", "none.invalid/none", "--restart", "Never")
		kubectl("delete", "pod", "whylet-test-gone", "-n", "default", "--now")
	}
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHelmInstallsWhylet has the real Helm install the chart with the images that a release
// has: agent and front come up, somebody with rights in one namespace asks by the front's
// door; it upgrades, rolls back, and removes it, and kubectl why removes what that leaves on
// the node. Once the node knows who vouches for the front it speaks for itself, and the agent
// is turned away. make test-charts.
func TestHelmInstallsWhylet(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(bin("helm")); err != nil {
		t.Skip("make test-charts makes helm")
	}
	const namespace = "whylet-by-helm"
	authority := filepath.Join(t.TempDir(), "front-ca.crt")
	n := startNode(t, "--front", "whylet-fronts."+namespace+".svc:9443", "--front-ca", authority)
	defer installsAgents(t, n)()
	s := newSpace(t, n)
	h := &release{space: s, t: t, namespace: namespace}
	s.mustKubectl("create", "namespace", h.namespace)
	s.mustKubectl("label", "namespace", h.namespace, "pod-security.kubernetes.io/enforce=privileged")
	t.Cleanup(func() { h.removeAll() })
	s.mustKubectl("create", "serviceaccount", "tenant")
	s.mustKubectl("create", "rolebinding", "tenant", "--clusterrole", "view", "--serviceaccount", s.name+":tenant")

	h.helm("install", "--set", "image.tag="+ownTag)
	h.runs("2", "1")
	s.apply(failing)
	h.explains("failing", "exit code 3")
	if out, err := h.asTenant("--all", "-n", h.namespace); err == nil {
		t.Errorf("the tenant is told of another namespace:\n%s", out)
	}
	s.mustKubectl("delete", "pod", "failing", "--now")
	h.explains("failing", "exit code 3") // after its end

	h.helm("upgrade", "--set", "image.tag="+ownTag, "--set", "front.deletions=true", "--set", "agent.probeAgain=false")
	h.runs("2", "1")
	s.mustKubectl("get", "validatingwebhookconfiguration", "whylet-deletions")
	s.apply(failing)
	h.explains("failing", "exit code 3")

	h.helm("rollback", "1")
	h.runs("2", "1")
	if out, err := s.kubectl("get", "validatingwebhookconfiguration", "whylet-deletions"); err == nil {
		t.Errorf("the webhook is there still:\n%s", out)
	}
	h.explains("failing", "exit code 3")

	known := s.mustKubectl("get", "configmap", "whylet-front", "-n", h.namespace, "-o", `jsonpath={.data.ca\.crt}`)
	if err := os.WriteFile(authority, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually(2*time.Minute, "the agent is turned away", func() error {
		out, err := s.kubectl("logs", "-n", h.namespace, "daemonset/whylet-agent")
		if err == nil && !strings.Contains(out, "the node speaks for itself") {
			err = errors.New("it is heard still")
		}
		return err
	})
	h.explains("failing", "exit code 3")

	h.helm("uninstall")
	if out, err := h.why("uninstall", "--namespace", h.namespace, "--tag", ownTag, "--yes"); err != nil {
		t.Fatalf("kubectl why uninstall: %v\n%s", err, out)
	}
	if _, err := os.Stat(hostFolder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there still: %v", hostFolder, err)
	}
	nothingIsLeft(t, n)
	if out, err := s.kubectl("get", "crd", "-o", "name"); err != nil || strings.Contains(out, "why.whylet.dev") {
		t.Errorf("%v, left over:\n%s", err, out)
	}
}

// failing ends again and again.
const failing = `
apiVersion: v1
kind: Pod
metadata: {name: failing}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep 1; exit 3"]}]}
`

// release is the chart as Helm has it.
type release struct {
	*space
	t         *testing.T
	namespace string
}

// helm does one thing to the release, and waits until it is done.
func (h *release) helm(verb string, args ...string) {
	h.t.Helper()
	chart, err := filepath.Abs("../../deploy/chart/whylet")
	if err != nil {
		h.t.Fatal(err)
	}
	all := []string{verb, "whylet", "--namespace", h.namespace, "--wait", "--timeout", "4m"}
	if verb == "install" || verb == "upgrade" {
		all = append(all, chart)
	}
	if out, err := h.space.helm(h.t, append(all, args...)...); err != nil {
		pods, _ := h.kubectl("describe", "pods", "-n", h.namespace)
		h.t.Fatalf("helm %s: %v\n%s\n%s", verb, err, out, pods)
	}
}

// runs looks that so many replicas of the front are Ready, and agents.
func (h *release) runs(fronts, agents string) {
	h.t.Helper()
	h.eventually(time.Minute, "front and agent are Ready", func() error {
		front, err := h.kubectl("get", "deployment", "whylet-front", "-n", h.namespace, "-o", "jsonpath={.status.readyReplicas}/{.status.updatedReplicas}")
		if err != nil {
			return err
		}
		agent, err := h.kubectl("get", "daemonset", "whylet-agent", "-n", h.namespace, "-o", "jsonpath={.status.numberReady}/{.status.updatedNumberScheduled}")
		if err == nil && (front != fronts+"/"+fronts || agent != agents+"/"+agents) {
			err = fmt.Errorf("%s fronts, %s agents", front, agent)
		}
		return err
	})
}

func (h *release) why(args ...string) (string, error) {
	out, err := h.node.command(h.t.Context(), bin("kubectl-why"), args...).CombinedOutput()
	return string(out), err
}

// asTenant asks with the rights of somebody who may view one namespace.
func (h *release) asTenant(args ...string) (string, error) {
	return h.why(append(args, "-v", "--as=system:serviceaccount:"+h.name+":tenant")...)
}

// explains waits until a Question of the tenant's is answered so.
func (h *release) explains(pod, text string) {
	h.t.Helper()
	h.eventually(time.Minute, "the tenant is told why", func() error {
		out, _ := h.asTenant("pod/"+pod, "-n", h.name) // a cause that is not known is an error, too
		if !strings.Contains(out, text) || !strings.Contains(out, "by a Question") {
			return errors.New(out)
		}
		return nil
	})
}

// removeAll removes what a test that failed leaves.
func (h *release) removeAll() {
	ctx := context.Background() // the test's is over
	if h.t.Failed() {
		cmd := h.node.command(ctx, bin("helm"), "uninstall", "whylet", "--namespace", h.namespace)
		_ = cmd.Run()
	}
	_ = h.node.command(ctx, bin("kubectl"), "delete", "namespace", h.namespace, "--wait=false").Run()
}

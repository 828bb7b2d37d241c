package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/test/peer"
)

// mostAgent is how long the agent's image may be: every node of a cluster pulls it.
const mostAgent = 30_000_000

// The real Helm installs the chart beside a real kubelet: pods find the fronts and the API
// server by Services and names, somebody with rights in one namespace asks by the front's
// door, one front goes while it is asked, and the webhook tells who deleted a pod.
// WHYLET_CHARTS is the images' tag: make test-charts.
func TestChartBesideKubelet(t *testing.T) {
	tag := os.Getenv("WHYLET_CHARTS")
	if tag == "" {
		t.Skip("run 'make test-charts'")
	}
	bin, err := peer.FindBinaries(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	stack, err := peer.StartKubelet(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs end:\n%s", stack.Logs())
		}
		if err := stack.Stop(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	c := &charted{t, stack, bin}
	oci := filepath.Join(bin.Whylet, "oci")
	if info, err := os.Stat(filepath.Join(oci, "whylet-observe.tar")); err != nil || info.Size() > mostAgent {
		t.Errorf("the agent's image: %v, %+v", err, info)
	}
	if err := errors.Join(stack.ServeServices(t.Context()), stack.Load(t.Context(), filepath.Join(oci, "whylet-observe.tar"), filepath.Join(oci, "whylet-front.tar"))); err != nil {
		t.Fatal(err)
	}
	for _, space := range []string{"whylet", "shop"} {
		if err := stack.Namespace(t.Context(), space); err != nil {
			t.Fatal(err)
		}
	}
	c.run("kubectl", "label", "namespace", "whylet", "pod-security.kubernetes.io/enforce=privileged")
	c.run("kubectl", "create", "serviceaccount", "tenant", "-n", "shop")
	c.run("kubectl", "create", "rolebinding", "tenant", "-n", "shop", "--clusterrole=view", "--serviceaccount=shop:tenant")

	set := []string{"--set", "image.tag=" + tag, "--set", "agent.runtimeEndpoint=" + stack.RuntimeEndpoint(), "--set", "agent.dataDir=/var/lib/kubelet/whylet-observe"}
	began := time.Now()
	c.helm("install", set...)
	c.run("kubectl", "rollout", "status", "daemonset/whylet-agent", "-n", "whylet", "--timeout=3m") // of one agent one may be missing, thinks Helm
	t.Logf("installed after %v:\n%s", time.Since(began).Round(time.Second), c.run("kubectl", "get", "pods", "-n", "whylet", "-o", "wide"))
	c.fails()
	c.told("exit code 3", "by a Question")
	if out, err := c.why("--all", "-n", "whylet"); err == nil {
		t.Errorf("the tenant is told of another namespace:\n%s", out)
	}

	gone := c.run("kubectl", "get", "pods", "-n", "whylet", "-l", "app.kubernetes.io/component=front", "-o", "jsonpath={.items[0].metadata.name}")
	c.run("kubectl", "delete", "pod", gone, "-n", "whylet", "--now", "--wait=false")
	c.told("exit code 3", "by a Question")

	c.helm("upgrade", append(set, "--set", "front.deletions=true")...)
	c.eventually(func() error { // kubelet brings the webhook's key into pods that run within a minute or two
		c.run("kubectl", "delete", "pod", "failing", "-n", "shop", "--now", "--wait")
		out, _ := c.why("pod/failing", "-n", "shop")
		c.fails()
		if !strings.Contains(out, "admin") {
			return errors.New(out)
		}
		return nil
	})

	c.helm("rollback", "1")
	c.told("exit code 3", "by a Question")
	c.helm("uninstall")
	c.run("kubectl-why", "uninstall", "--namespace", "whylet", "--tag", tag, "--yes")
	if left := c.run("kubectl", "get", "crd,daemonset,deployment,clusterrole", "-A", "-o", "name"); strings.Contains(left, "whylet") {
		t.Errorf("left over:\n%s", left)
	}
}

type charted struct {
	*testing.T
	stack *peer.Stack
	bin   peer.Binaries
}

func (c *charted) run(program string, args ...string) string {
	c.Helper()
	out, err := c.stack.Command(c.Context(), filepath.Join(c.bin.Whylet, program), args...).CombinedOutput()
	if err != nil {
		c.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// helm does one thing to the release, and waits until it is done.
func (c *charted) helm(verb string, args ...string) {
	c.Helper()
	all := []string{verb, "whylet", "--namespace", "whylet", "--wait", "--timeout", "6m"}
	if verb == "install" || verb == "upgrade" {
		all = append(all, filepath.Join("..", "..", "..", "deploy", "chart", "whylet"))
	}
	cmd := c.stack.Command(c.Context(), filepath.Join(c.bin.Whylet, "helm"), append(all, args...)...)
	cmd.Env = append(cmd.Env, "HOME="+c.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		pods, _ := c.stack.Command(context.WithoutCancel(c.Context()), filepath.Join(c.bin.Whylet, "kubectl"), "describe", "pods", "-n", "whylet").CombinedOutput()
		c.Fatalf("helm %s: %v\n%s\n%s", verb, err, out, pods)
	}
}

// fails makes a pod that ends again and again.
func (c *charted) fails() {
	c.Helper()
	c.run("kubectl", "run", "failing", "-n", "shop", "--image=busybox:1", "--overrides={\"spec\":{\"terminationGracePeriodSeconds\":0}}", "--", "sh", "-c", "sleep 1; exit 3")
}

func (c *charted) eventually(check func() error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience(c.T))
	defer cancel()
	if err := eventually(ctx, 2*time.Second, check); err != nil {
		c.Fatal(err)
	}
}

// why asks with the rights of somebody who may view one namespace.
func (c *charted) why(args ...string) (string, error) {
	args = append(args, "-v", "--as=system:serviceaccount:shop:tenant")
	out, err := c.stack.Command(c.Context(), filepath.Join(c.bin.Whylet, "kubectl-why"), args...).CombinedOutput()
	return string(out), err
}

// told waits until the tenant is told so of the pod.
func (c *charted) told(words ...string) {
	c.Helper()
	began := time.Now()
	c.eventually(func() error {
		out, _ := c.why("pod/failing", "-n", "shop") // a cause that is not known is an error, too
		if strings.Contains(out, "level 0") {
			return fmt.Errorf("the agent is not heard:\n%s", out)
		}
		for _, w := range words {
			if !strings.Contains(out, w) {
				return fmt.Errorf("%q is not in:\n%s", w, out)
			}
		}
		return nil
	})
	c.Logf("%q after %v", words, time.Since(began).Round(100*time.Millisecond))
}

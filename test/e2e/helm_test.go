package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The real Helm installs a chart with a database on a claim, a Service of type
// LoadBalancer, probes, hooks, a disruption budget and an autoscaler; it upgrades it, is
// refused a bad value that kubectl why names, rolls back, and removes it. make test-charts.
func TestHelm(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"helm", "servers/postgres.tar"} {
		if _, err := os.Stat(bin(file)); err != nil {
			t.Skip("make test-charts makes " + file)
		}
	}
	if out, code := shared.whylet(t, "image", "load", "--data-dir", shared.data(), bin("servers/postgres.tar")); code != 0 {
		t.Fatal(out)
	}
	s := newSpace(t, shared)
	chart, err := filepath.Abs("charts/shop")
	if err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := s.helm(t, args...); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	address := ""
	page := func(want string) {
		t.Helper()
		s.eventually(time.Minute, "the page", func() error {
			out, err := shared.command(t.Context(), "curl", "-sS", "--max-time", "3", "http://"+address+":8088/").CombinedOutput()
			if err == nil && string(out) != want {
				err = fmt.Errorf("it is %q, want %q", out, want)
			}
			return err
		})
	}
	orders := func(want string) {
		t.Helper()
		out, err := s.exec("db-0", "/usr/lib/postgresql/15/bin/psql", "-At", "-c", "select count(*) from orders")
		if err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%q orders, want %s: %v", out, want, err)
		}
	}

	must("install", "shop", chart, "--wait", "--timeout", "3m")
	address = s.mustKubectl("get", "service", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
	page("one")
	orders("1")

	must("upgrade", "shop", chart, "--set", "greeting=two", "--wait", "--timeout", "3m")
	page("two")
	orders("2")

	// A bad value: Helm knows only that it took too long.
	if out, err := s.helm(t, "upgrade", "shop", chart, "--set", "greeting=two,path=/nosuch", "--wait", "--timeout", "20s"); err == nil {
		t.Errorf("helm is content with a bad value:\n%s", out)
	}
	why, _ := shared.command(t.Context(), bin("kubectl-why"), "deployment/web", "-n", s.name).CombinedOutput()
	contains(t, string(why), "/nosuch", "probe-wrong-path")
	page("two") // the budget of a rollout keeps the old ones

	must("rollback", "shop", "2", "--wait", "--timeout", "3m")
	page("two")
	orders("2")
	if got := s.mustKubectl("get", "pdb", "web", "-o", "jsonpath={.status.desiredHealthy}/{.status.disruptionsAllowed}"); got != "1/1" {
		t.Errorf("the disruption budget wants and allows %s", got)
	}
	s.eventually(3*time.Minute, "the autoscaler has measurements", func() error {
		out, err := s.kubectl("get", "hpa", "web", "-o", `jsonpath={.status.conditions[?(@.type=="ScalingActive")].status}`)
		if err == nil && out != "True" {
			err = fmt.Errorf("ScalingActive is %q", out)
		}
		return err
	})

	must("uninstall", "shop", "--wait", "--timeout", "2m")
	s.eventually(time.Minute, "nothing is left", func() error { // pods go after what owns them
		got, err := s.kubectl("get", "pods,services,deployments,statefulsets,jobs,pdb,hpa", "-o", "name")
		if err == nil && got != "" {
			err = fmt.Errorf("helm leaves %s", got)
		}
		return err
	})
	volume := s.mustKubectl("get", "pvc", "data-db-0", "-o", "jsonpath={.spec.volumeName}")
	s.mustKubectl("delete", "pvc", "data-db-0")
	s.eventually(time.Minute, "the database's volume goes with its claim", func() error {
		if left, _ := filepath.Glob(filepath.Join(shared.data(), "storage", "*"+volume+"*")); len(left) > 0 {
			return fmt.Errorf("%s is there", left)
		}
		return nil
	})
}

// helm runs the real Helm in the test's namespace.
func (s *space) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := s.node.command(ctx, bin("helm"), append([]string{"-n", s.name}, args...)...)
	cmd.Env = append(cmd.Env, "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

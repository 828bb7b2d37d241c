package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/answer"
)

// metrics are those that the front serves.
var metrics = []string{"whylet_pod_verdict", "whylet_verdicts_total", "whylet_front_agents", "whylet_front_certificate_end_seconds"}

var (
	metricName  = regexp.MustCompile(`\bwhylet_[a-z_]+\b`)
	causeChoice = regexp.MustCompile(`cause[=!]~?"([^"]*)"`)
)

// check holds an expression to metrics and causes that there are: one that never fires
// looks like peace.
func check(t *testing.T, where, expr string) {
	t.Helper()
	for _, name := range metricName.FindAllString(expr, -1) {
		if !slices.Contains(metrics, name) {
			t.Errorf("%s asks for %s, which nobody serves", where, name)
		}
	}
	for _, m := range causeChoice.FindAllStringSubmatch(expr, -1) {
		for one := range strings.SplitSeq(m[1], "|") {
			of := regexp.MustCompile("^(?:" + one + ")$")
			if !slices.ContainsFunc(answer.Causes, func(c answer.Cause) bool { return of.MatchString(string(c)) }) {
				t.Errorf("%s: no cause is %s", where, one)
			}
		}
	}
}

func load(t *testing.T, file string, to any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("monitoring", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, to); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestAlerts(t *testing.T) {
	var rule struct {
		Spec struct {
			Groups []struct {
				Name  string
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
	}
	load(t, "alerts.yaml", &rule)
	for _, r := range rule.Spec.Groups[0].Rules {
		check(t, r.Alert, r.Expr)
		if r.Annotations["summary"] == "" || !strings.HasPrefix(r.Annotations["command"], "kubectl why") {
			t.Errorf("%s does not say what and what to ask: %v", r.Alert, r.Annotations)
		}
	}
	promtool := promtool(t)
	var object map[string]any
	load(t, "alerts.yaml", &object)
	spec, err := json.Marshal(object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml") // JSON is YAML
	if err := os.WriteFile(file, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// promtool finds Prometheus' own checker, or unpacks it from Debian's package: installed,
// that would start a server.
func promtool(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("promtool"); err == nil {
		return found
	}
	dir := t.TempDir()
	fetch := exec.CommandContext(t.Context(), "sh", "-c", "apt-get -q download prometheus && dpkg-deb -x prometheus_*.deb .")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Skipf("no promtool, and Debian's package prometheus cannot be had: %v\n%s", err, out)
	}
	return filepath.Join(dir, "usr/bin/promtool")
}

// TestDashboard checks what Grafana needs to load it: it says nothing of what it ignores.
func TestDashboard(t *testing.T) {
	var board struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct{ List []struct{ Name, Type string } }
		Panels        []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Datasource  struct{ Type, UID string }
			Targets     []struct{ Expr, RefID string }
		}
	}
	load(t, "dashboard.json", &board)
	if board.UID == "" || board.Title == "" || board.SchemaVersion < 36 || len(board.Templating.List) != 2 {
		t.Errorf("%+v", board)
	}
	seen := map[int]bool{}
	for _, p := range board.Panels {
		if seen[p.ID] || p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %+v", p)
		}
		seen[p.ID] = true
		if !slices.Contains([]string{"stat", "bargauge", "state-timeline", "timeseries", "table"}, p.Type) {
			t.Errorf("%s: Grafana has no panel %s of its own", p.Title, p.Type)
		}
		for _, target := range p.Targets {
			check(t, p.Title, target.Expr)
		}
	}
}

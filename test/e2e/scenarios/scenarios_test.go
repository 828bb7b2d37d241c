package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long trouble may take to come about and be understood on a
// machine that is busy with other things.
func patience(t *testing.T) time.Duration {
	d, err := time.ParseDuration(cmp.Or(os.Getenv("WHYLET_SCENARIOS_PATIENCE"), "5m"))
	if err != nil {
		t.Fatal("WHYLET_SCENARIOS_PATIENCE:", err)
	}
	return d
}

func programs() string {
	return cmp.Or(os.Getenv("WHYLET_E2E_BIN"), filepath.Join("..", "..", "..", "bin"))
}

// width is how many scenarios run side by side: as many as leave the probes of
// each on time.
func width(t *testing.T) int {
	text := os.Getenv("WHYLET_SCENARIOS_PARALLEL")
	if text == "" {
		return 6 * runtime.NumCPU()
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("WHYLET_SCENARIOS_PARALLEL=%s is no number", text)
	}
	return n
}

// Every scenario is whole, played or not.
func TestFiles(t *testing.T) {
	all, err := Load("own")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := Load("servers")
	if err != nil {
		t.Fatal(err)
	}
	meshes, err := Load("meshes")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(all, servers, meshes) {
		if strings.Contains(s.Trigger+s.Recover, "dirname \"$0\"") || strings.Contains(s.Trigger+s.Recover, "manifest.yaml") {
			t.Errorf("%s: its scripts have no folder; the manifest is in $MANIFEST", s.Name)
		}
		if s.Want.Symptom == "" {
			t.Errorf("%s: no symptom", s.Name)
		}
		_, name, _ := strings.Cut(s.Want.Subject, "/")
		name = strings.TrimSuffix(name, "-0") // a StatefulSet's
		if !strings.Contains(s.Manifest+s.Trigger, "name: "+name) && !strings.Contains(s.Trigger, "subject=") {
			t.Errorf("%s: nothing is named %s", s.Name, name)
		}
	}
}

func TestScenarios(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the scenarios run real containers and need root: sudo make test-e2e")
	}
	var names []string
	if picked := os.Getenv("WHYLET_SCENARIOS"); picked != "" {
		names = strings.Split(picked, ",")
	}
	loaded, err := Load("own", names...)
	if err != nil {
		t.Fatal(err)
	}
	if names == nil {
		loaded = append(loaded, withServers(t)...)
	}
	everything := os.Getenv("WHYLET_SCENARIOS_ALL") != ""
	var side, alone []Scenario
	for _, s := range loaded {
		reason := cmp.Or(s.Want.Todo, s.Want.Bench)
		switch {
		case reason != "" && names == nil && !everything:
			t.Run(s.Name, func(t *testing.T) { t.Skip(reason) })
		case s.Want.Node != nil:
			alone = append(alone, s)
		default:
			side = append(side, s)
		}
	}
	situations := []Situation{Live}
	if everything {
		situations = Situations
	}
	if len(side) > 0 {
		suite := newSuite(t, SharedFlags...)
		suite.load(t, side)
		if everything {
			suite.test(t, side, situations)
		} else {
			suite.each(t, side)
		}
	}
	for _, s := range alone {
		newSuite(t, s.Want.Node...).test(t, []Scenario{s}, situations)
	}
}

// newSuite starts a node for the test's duration.
func newSuite(t *testing.T, flags ...string) *suite {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), max(5*time.Minute, patience(t)))
	defer cancel()
	n, err := StartNode(ctx, programs(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the node's log ends:\n%s", n.Log())
		}
		if err := n.Purge(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	return &suite{&Suite{Node: n, Patience: patience(t), Every: patience(t) / 100}}
}

// withServers are a few situations with real servers, by the images that `make test-e2e`
// makes. test/bench/why plays all of them.
func withServers(t *testing.T) []Scenario {
	t.Helper()
	if made, err := filepath.Glob(filepath.Join(programs(), "servers", "*.tar")); err != nil || len(made) == 0 {
		t.Run("servers", func(t *testing.T) { t.Skip("make test-e2e makes the images of the servers") })
		return nil
	}
	some, err := Load("servers", "gunicorn-import-error", "redis-bad-config", "redis-busy-script", "redis-loopback")
	if err != nil {
		t.Fatal(err)
	}
	return some
}

type suite struct{ *Suite }

// load loads the servers that scenarios need.
func (s *suite) load(t *testing.T, all []Scenario) {
	t.Helper()
	archives, err := Servers(programs(), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) > 0 {
		if err := s.Node.Load(t.Context(), archives...); err != nil {
			t.Fatal(err)
		}
	}
}

// each plays every scenario once, as its own test, several side by side. The
// flag -parallel is about whole nodes, so it is not what bounds them.
func (s *suite) each(t *testing.T, all []Scenario) {
	if err := s.Prepare(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	SideBySide(len(all), width(t), func(i int) {
		t.Run(all[i].Name, func(t *testing.T) {
			c := &all[i]
			if err := s.Begin(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r := s.Ask(t.Context(), c, Live, s.Patience)
			if err := grade(r); err != nil {
				t.Error(err)
			}
			t.Logf("%s after %v", r.Grade, r.Until.Round(time.Second))
			if err := s.End(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	})
}

// test plays scenarios together in several situations.
func (s *suite) test(t *testing.T, all []Scenario, situations []Situation) {
	results, err := s.Play(t.Context(), all, situations)
	if err != nil {
		t.Error(err)
	}
	for _, r := range results {
		t.Run(fmt.Sprintf("%s/%s", r.Scenario.Name, r.Situation), func(t *testing.T) {
			err := grade(r)
			if err != nil && r.Scenario.Want.Todo != "" {
				t.Skipf("todo: %s: %v", r.Scenario.Want.Todo, err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// grade fails for everything but the right answer. What is said beside it counts
// in the benchmark only, because load can cause it.
func grade(r Result) error {
	if r.Grade == Right || r.Grade == Beside {
		return nil
	}
	return errors.Join(errors.New(r.String()), errors.New(r.Text))
}

package common

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"whylet.dev/whylet/why/answer"
)

var boom = Fault{Cause: answer.AppExitError}

// town makes scenes by hand.
type town struct{ Scene }

// add adds pods of a workload at a revision, one on each node; ill says which fail.
func (w *town) add(workload, revision, ill string, nodes ...string) *town {
	for i, node := range nodes {
		p := Pod{
			UID: types.UID(fmt.Sprint(len(w.Pods))), Namespace: "shop", Node: node,
			Maker: Maker{"shop", "Deployment", workload, revision},
		}
		switch ill[i] {
		case 'x':
			p.Faults = []Fault{boom}
		case 'o':
			p.Faults = []Fault{{Cause: answer.MemoryLimit}}
		case '?':
			p.Apart = true
		}
		w.Pods = append(w.Pods, p)
	}
	return w
}

func (w *town) pool(name string, nodes ...string) *town {
	if w.Traits == nil {
		w.Traits = map[string]Traits{}
	}
	for _, n := range nodes {
		w.Traits[n] = Traits{"node pool": name}
	}
	return w
}

func scene() *town { return &town{} }

// crowded is the same with the pods that do well in crowds.
func (w *town) crowded() Scene {
	s := Scene{Traits: w.Traits}
	by := map[Maker]int{}
	for _, p := range w.Pods {
		if p.Apart || len(p.Faults) > 0 {
			s.Pods = append(s.Pods, p)
			continue
		}
		if _, ok := by[p.Maker]; !ok {
			by[p.Maker] = len(s.Crowds)
			s.Crowds = append(s.Crowds, Crowd{Maker: p.Maker})
		}
		c := &s.Crowds[by[p.Maker]]
		c.On = append(c.On, Share{NodeOf(p.Node), 1}) // twice for two on a node is the same
	}
	return s
}

func TestFind(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f"}
	pools := func(w *town) Scene { return w.pool("new", "a", "b", "c").pool("old", "d", "e", "f").Scene }
	for name, c := range map[string]struct {
		scene Scene
		want  string // KIND CERTAINTY NAME: TEXT, one a line
	}{
		"a rollout": {
			scene().add("web", "2", "xxx", "a", "b", "c").add("web", "1", ".....", "a", "b", "c", "a", "b").Scene,
			"revision inferred deployment/web, template 2: 3 of 3 pods of template 2 fail so, and 0 of 5 of other revisions: it came with template 2.",
		},
		"a rollout that has just begun": {
			scene().add("web", "2", "x", "a").add("web", "1", "...", "a", "b", "c").Scene,
			"revision unknown deployment/web, template 2: 1 of 1 pod of template 2 fails so, and 0 of 3 of other revisions: too few to say that it came with template 2.",
		},
		"both revisions fail":        {scene().add("web", "2", "xxx", many[:3]...).add("web", "1", "..x..", many[:5]...).Scene, ""},
		"not all of a revision fail": {scene().add("web", "2", "xx.", many[:3]...).add("web", "1", ".....", many[:5]...).Scene, ""},
		"one revision":               {scene().add("web", "2", "xxx", many[:3]...).Scene, ""},
		"what fails otherwise or long ago is not compared": {
			scene().add("web", "2", "xxxo?", "a", "b", "c", "a", "b").add("web", "1", ".....o?", "a", "b", "c", "a", "b", "c", "a").Scene,
			"revision inferred deployment/web, template 2: 3 of 3 pods of template 2 fail so, and 0 of 5 of other revisions: it came with template 2.",
		},
		"a new revision on one node where nothing else is": {
			scene().add("web", "2", "xxx", "a", "a", "a").add("web", "1", ".....", "b", "b", "b", "c", "c").Scene,
			"revision unknown deployment/web, template 2: 3 of 3 pods of template 2 fail so, and 0 of 5 of other revisions: all are on one node on which no other does well, which may be why as well as template 2.",
		},
		"a node": {
			scene().add("web", "1", "xx....", "a", "a", "b", "b", "c", "c").add("api", "1", "xx....", "a", "a", "b", "b", "c", "c").add("job", "1", "xx....", "a", "a", "b", "b", "c", "c").Scene,
			"nodes inferred node a: 6 of 6 pods on node a fail so, and 0 of 12 of the same workloads elsewhere: it is the node.",
		},
		"a node, of few pods": {
			scene().add("web", "1", "xx....", "a", "a", "b", "b", "c", "c").Scene,
			"nodes unknown node a: 2 of 2 pods on node a fail so, and 0 of 4 of the same workloads elsewhere: too few to say that it is the node.",
		},
		"workloads that are on one node only accuse none": {scene().add("web", "1", "xxx", "a", "a", "a").add("api", "1", "......", many...).Scene, ""},
		"a pool": {
			pools(scene().add("web", "1", "xxx...", many...).add("api", "1", "xxx...", many...).add("log", "1", "xxx...", many...)),
			"nodes inferred node pool new: 9 of 9 pods on nodes with node pool new fail so, and 0 of 9 of the same workloads elsewhere: it is what those nodes share.",
		},
		"a pool of too few nodes": {
			scene().add("web", "1", "xxxx....", "a", "a", "b", "b", "c", "c", "d", "d").add("api", "1", "xxxx....", "a", "a", "b", "b", "c", "c", "d", "d").
				pool("new", "a", "b").pool("old", "c", "d").Scene,
			"nodes unknown node pool new: 8 of 8 pods on nodes with node pool new fail so, and 0 of 8 of the same workloads elsewhere: too few nodes to say that it is what those nodes share.",
		},
		"it fails in every pool": {pools(scene().add("web", "1", "xx.x..", many...).add("api", "1", "x.xx.x", many...)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, f := range Find(c.scene) {
				lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Certainty, f.Name, f.Text))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDependencies(t *testing.T) {
	w := scene().add("web", "1", "xxx", "a", "b", "a").add("api", "1", "o.", "c", "a")
	for i := range w.Pods {
		w.Pods[i].Asks = []string{"shop/db"}
	}
	w.Pods[0].Asks = append(w.Pods[0].Asks, "example.com:443")
	found := Find(w.Scene)
	if len(found) != 1 || found[0].Name != "shop/db" || len(found[0].Pods) != 4 || found[0].Certainty != answer.Inferred ||
		found[0].Text != "4 pods on 3 nodes fail, and say that shop/db fails them." {
		t.Errorf("%+v", found)
	}
	for i := range w.Pods {
		w.Pods[i].Node = "a"
	}
	if found := Find(w.Scene); len(found) != 1 || found[0].Certainty != answer.Unknown || !strings.Contains(found[0].Text, "All are on one node") {
		t.Errorf("%+v", found)
	}
}

// An asker who may see one namespace learns nothing of what pods elsewhere have in common with it.
func TestOnlyOneNamespace(t *testing.T) {
	w := scene().add("web", "1", "xx....", "a", "a", "b", "b", "c", "c")
	w.add("secret", "1", "xx....", "a", "a", "b", "b", "c", "c").add("secret", "2", "...", "b", "c", "c").add("hidden", "1", "xx....", "a", "a", "b", "b", "c", "c")
	own := map[types.UID]bool{}
	for i := range w.Pods {
		w.Pods[i].Asks = []string{"ledger.example:443"}
		if p := &w.Pods[i]; p.Maker.Name == "web" {
			own[p.UID] = true
		} else {
			p.Namespace, p.Maker.Namespace = "bank", "bank"
		}
	}
	for name, s := range map[string]Scene{"one by one": w.Scene, "in crowds": w.crowded()} {
		s.Only("shop")
		found := Find(s)
		if len(found) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
		for _, f := range found {
			if f.With.All+f.Without.All > len(own) || len(f.Pods) > len(own) {
				t.Errorf("%s: pods of others are counted: %+v", name, f)
			}
		}
	}
}

// A template that changed where the fault fits makes up for few pods; another change does not.
func TestSettle(t *testing.T) {
	before := v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "web:1", Env: []v1.EnvVar{{Name: "MODE", Value: "safe"}, {Name: "KEY", Value: "hunter1"}},
		Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}},
	}}}}
	for name, c := range map[string]struct {
		change func(*v1.Container)
		cause  answer.Cause
		want   answer.Certainty
		text   string
	}{
		"image": {func(c *v1.Container) { c.Image = "web:2" }, answer.AppExitError, answer.Inferred, "image of container app (web:2, before: web:1)"},
		"less memory": {func(c *v1.Container) {
			c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("16Mi")}
		}, answer.MemoryLimit, answer.Inferred, "memory limit of container app (16Mi, before: 64Mi)"},
		"no limit": {func(c *v1.Container) { c.Resources.Limits = nil }, answer.AppExitError, answer.Unknown, "memory limit of container app (none, before: 64Mi)"},
		"a secret": {func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "KEY", Value: "hunter2"}} }, answer.AppExitError, answer.Inferred, "environment of container app (KEY, MODE)"},
		"hook":     {func(c *v1.Container) { c.Lifecycle = &v1.Lifecycle{} }, answer.AppExitError, answer.Unknown, "lifecycle hooks of container app"},
		"nothing":  {func(*v1.Container) {}, answer.AppExitError, answer.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := before.DeepCopy()
			c.change(&now.Spec.Containers[0])
			w := scene().add("web", "b", "x", "a").add("web", "a", "...", "a", "b", "c")
			for i := range w.Pods[0].Faults {
				w.Pods[0].Faults[i].Cause = c.cause
			}
			f := Find(w.Scene)[0]
			f.Settle("2", Changes(&before, now))
			if got := strings.Join(f.Changes, "; "); f.Certainty != c.want || got != c.text || strings.Contains(f.Text, "hunter") || f.Name != "deployment/web, revision 2" {
				t.Errorf("%s %s: %s", f.Certainty, got, f.Text)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		symptom answer.Symptom
		verdict answer.Verdict
		faults  int
		apart   bool
	}{
		"well":               {answer.Symptom{Kind: answer.Healthy}, answer.Verdict{Cause: answer.None, Certainty: answer.Inferred}, 0, false},
		"nothing was seen":   {answer.Symptom{Kind: answer.Healthy}, answer.Verdict{Cause: answer.None, Certainty: answer.Unknown}, 0, true},
		"it restarts":        {answer.Symptom{Kind: answer.Restarted, Last: now}, answer.Verdict{Cause: answer.AppExitError}, 1, false},
		"it did last night":  {answer.Symptom{Kind: answer.Restarted, Last: now.Add(-9 * time.Hour)}, answer.Verdict{Cause: answer.AppExitError}, 0, true},
		"it is being ended":  {answer.Symptom{Kind: answer.Terminating}, answer.Verdict{Cause: answer.AppIgnoredSIGTERM}, 0, true},
		"somebody wanted it": {answer.Symptom{Kind: answer.Disappeared}, answer.Verdict{Cause: answer.Deleted, Certainty: answer.Recorded}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := answer.New(answer.Subject{}, now, answer.Coverage{})
			a.Put(c.symptom, c.verdict)
			var p Pod
			if p.Judge(&a); len(p.Faults) != c.faults || p.Apart != c.apart {
				t.Errorf("%+v", p)
			}
		})
	}
}

// Chance is a probability, never more for one more that fails there, and one where nothing
// can be compared.
func TestChance(t *testing.T) {
	if got := chance([]stratum{{answer.Tally{Failing: 3, All: 3}, answer.Tally{All: 5}}}); got < 0.0178 || got > 0.0179 { // 1 of C(8,3)
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		var strata []stratum
		for range rapid.IntRange(0, 4).Draw(t, "strata") {
			one := stratum{answer.Tally{All: rapid.IntRange(0, 9).Draw(t, "with")}, answer.Tally{All: rapid.IntRange(0, 9).Draw(t, "without")}}
			one.with.Failing = rapid.IntRange(0, one.with.All).Draw(t, "failing with")
			one.without.Failing = rapid.IntRange(0, one.without.All).Draw(t, "failing without")
			strata = append(strata, one)
		}
		p := chance(strata)
		if p < 0 || p > 1 || sum(strata).with.Failing == 0 && p < 0.999 {
			t.Fatalf("%v: %v", strata, p)
		}
		for i, s := range strata {
			if s.tells() && s.with.Failing < s.with.All && s.without.Failing > 0 { // one of those that fail moves there
				more := slices.Clone(strata)
				more[i].with.Failing++
				more[i].without.Failing--
				if q := chance(more); q > p+1e-9 {
					t.Fatalf("%v: %v, with one more there %v", strata, p, q)
				}
			}
		}
	})
}

// However pods stand and in whatever order they are told of: what is found is the same,
// its numbers are those of the pods, and where it is said to be why, others do well.
func TestFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := scene()
		for range rapid.IntRange(0, 40).Draw(t, "pods") {
			w.add(rapid.SampledFrom([]string{"web", "api"}).Draw(t, "workload"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "revision"),
				rapid.SampledFrom([]string{"x", ".", ".", "o", "?"}).Draw(t, "state"), rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "node"))
		}
		w.pool("new", "a", "b").pool("old", "c", "d")
		found := Find(w.Scene)
		for _, f := range found {
			if f.With.Failing > f.With.All || f.Without.Failing > f.Without.All || f.With.Failing == 0 || len(f.Pods) < f.With.Failing || f.Nodes == 0 {
				t.Fatalf("%+v", f)
			}
			if float64(f.Without.Failing) > few*float64(f.Without.All) || f.Without.All == 0 {
				t.Fatalf("others fail as well: %+v", f)
			}
			for i := range w.Pods {
				if p := &w.Pods[i]; f.Pods[p.UID] && !slices.Contains(p.Faults, f.Fault) {
					t.Fatalf("%+v does not fail so: %+v", p, f)
				}
			}
		}
		// Asked about one of them, it is what it has in common with others, no more.
		for i := range w.Pods {
			one := w.Scene
			one.Asked = map[types.UID]bool{w.Pods[i].UID: true}
			others := func(f Finding) bool { return !f.Pods[w.Pods[i].UID] }
			if got, want := slices.DeleteFunc(Find(one), others), slices.DeleteFunc(Find(w.Scene), others); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("of %s: %v\n%v", w.Pods[i].UID, got, want)
			}
		}
		if got := Find(w.crowded()); fmt.Sprint(got) != fmt.Sprint(found) {
			t.Fatalf("in crowds: %v\n%v", got, found)
		}
		shuffled := Scene{Pods: slices.Clone(w.Pods), Traits: w.Traits}
		seed := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		seed.Shuffle(len(shuffled.Pods), func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] })
		if again := Find(shuffled); fmt.Sprint(again) != fmt.Sprint(found) {
			t.Fatalf("%v\n%v", found, again)
		}
	})
}

// Where failing has nothing to do with nodes or revisions, hardly ever is one accused.
func TestChanceIsNotAccused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const scenes = 2000
	accused := 0
	for range scenes {
		w := scene().pool("new", "a", "b", "c").pool("old", "d", "e", "f")
		for _, workload := range []string{"web", "api", "log"} {
			for i := range 12 {
				state := "."
				if r.IntN(5) == 0 {
					state = "x"
				}
				w.add(workload, "1", state, string(rune('a'+i%6)))
			}
		}
		if slices.ContainsFunc(Find(w.Scene), func(f Finding) bool { return f.Certainty == answer.Inferred }) {
			accused++
		}
	}
	if accused > scenes/100 {
		t.Errorf("%d of %d scenes accuse nodes that are as good as the others", accused, scenes)
	}
}

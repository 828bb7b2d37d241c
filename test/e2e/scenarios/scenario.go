package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/answer"
)

// Scenario is one file.
type Scenario struct {
	Name string
	// About says what misleads, and where the trouble was reported.
	About    string
	Manifest string
	// Trigger and Recover are scripts; empty where there is none.
	Trigger, Recover string
	Want             Expected
}

// Expected is an answer.yaml.
type Expected struct {
	// Batch numbers the situations with real servers by the batch in which they were written.
	Batch int `json:"batch,omitempty"`
	// Subject is what is asked about, as kubectl why takes it; pod/subject if empty.
	Subject string `json:"subject,omitempty"`
	// One verdict must be this; an empty container fits any.
	Symptom   answer.SymptomKind `json:"symptom"`
	Cause     answer.Cause       `json:"cause"`
	Container string             `json:"container,omitempty"`
	// Either are causes that are as true as Cause: what somebody else would call the same
	// trouble, who knows as much of it.
	Either []answer.Cause `json:"either,omitempty"`
	// Or is a symptom that is as true: what the same trouble comes to on another runtime.
	Or answer.SymptomKind `json:"or,omitempty"`
	// RuledOut and Contributing must be said with that verdict.
	RuledOut     []answer.Cause `json:"ruledOut,omitempty"`
	Contributing []answer.Cause `json:"contributing,omitempty"`
	// Says are words that the wide text must have, SaysNot those that it must not; Matches are regular
	// expressions that it must match, whatever the case of its letters.
	Says    []string `json:"says,omitempty"`
	SaysNot []string `json:"saysNot,omitempty"`
	Matches []string `json:"matches,omitempty"`
	// Does are words that the steps of the right verdict must have, texts and commands: what a person has
	// to change. A bar is between words of which any will do. It is counted apart, and no part of the grade.
	Does []string `json:"does,omitempty"`
	// Short are causes that are true and stop before the root: partly right.
	Short []answer.Cause `json:"short,omitempty"`
	// Also are root causes that other verdicts may have beside it.
	Also []answer.Cause `json:"also,omitempty"`
	// Never are root causes that no verdict may have.
	Never []answer.Cause `json:"never,omitempty"`
	// Recovered is what must be said after recovery, where that is something else: of
	// trouble that leaves nothing behind.
	Recovered *Recovery `json:"recovered,omitempty"`
	// Deleted is the cause that must be said once the pod is gone, where that is another
	// one: whom a pod waits for is looked at while it is there.
	Deleted answer.Cause `json:"deleted,omitempty"`
	// WellFirst says that the pod is ready before its trouble begins: a probe that fails
	// before that is no symptom of it.
	WellFirst bool `json:"wellFirst,omitempty"`
	// After is how long after the trigger the first question is asked; for what
	// looks well from the start.
	After metav1.Duration `json:"after,omitempty"`
	// Except are the situations in which it is not asked.
	Except []Situation `json:"except,omitempty"`
	// Node are flags of a node of its own, for what would harm others; a single
	// empty flag means a node without flags.
	Node []string `json:"node,omitempty"`
	// Elsewhere says why it cannot be played beside a real kubelet, where the scripts
	// and the manifest do not show it ([Scenario.Elsewhere]).
	Elsewhere string `json:"elsewhere,omitempty"`
	// Todo says why the answer is known not to be this one yet, Bench why the
	// scenario is too slow or too dependent on time for CI. Either keeps it out of
	// the test and in the benchmark.
	Todo  string `json:"todo,omitempty"`
	Bench string `json:"bench,omitempty"`
}

// Recovery is an answer after recovery.
type Recovery struct {
	Symptom answer.SymptomKind `json:"symptom"`
	Cause   answer.Cause       `json:"cause"`
}

// In is what is expected in a situation.
func (e Expected) In(in Situation) Expected {
	switch {
	case in == Recovered && e.Recovered != nil:
		return Expected{Symptom: e.Recovered.Symptom, Cause: e.Recovered.Cause, Never: []answer.Cause{e.Cause}}
	case in == Deleted && e.Deleted != "":
		return Expected{Symptom: e.Symptom, Cause: e.Deleted}
	}
	return e
}

// Situation is when a question is asked.
type Situation string

// The situations.
const (
	Live             Situation = "live"
	Recovered        Situation = "recovered"
	NoEvents         Situation = "events deleted"
	Restarted        Situation = "agent restarted"
	KubeletRestarted Situation = "kubelet restarted"
	Deleted          Situation = "pod deleted"
	// Installed is an agent that begins when all has happened. It is none of those that
	// are always played: what was seen before is gone with it.
	Installed Situation = "agent installed"
)

// Situations are all of them, in the order in which they can be brought about. On a
// node of ours the agent is the kubelet.
var Situations = []Situation{Live, NoEvents, Restarted, KubeletRestarted, Recovered, Deleted}

// suffix is how the files of scenarios end.
const suffix = ".txtar"

// Load reads the scenarios in a folder and in those below it, sorted by name; all of them where
// no names are given.
func Load(dir string, names ...string) ([]Scenario, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, found := strings.CutSuffix(filepath.Base(path), suffix)
		if err != nil || !found || d.IsDir() {
			return err
		}
		if other, taken := files[name]; taken {
			return fmt.Errorf("%s and %s have the same name", other, path)
		}
		files[name] = path
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(files))
	}
	var all []Scenario
	for _, name := range names {
		if files[name] == "" {
			return nil, fmt.Errorf("scenario %s: there is no %s in %s", name, name+suffix, dir)
		}
		s, err := load(name, files[name])
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no scenarios in %s", dir)
	}
	return all, nil
}

// OfNode says whether an agent that knows the pods of its node can know of it: not of
// workloads, Services, and pods that have no node.
func (s *Scenario) OfNode() bool {
	return strings.HasPrefix(s.Want.Subject, "pod/") && s.Want.Symptom != answer.Pending
}

// Servers are the archives below the built programs of the servers that scenarios
// need: each is large, so only those are loaded.
func Servers(bin string, all []Scenario) ([]string, error) {
	archives, err := filepath.Glob(filepath.Join(bin, "servers", "*.tar"))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(archives, func(archive string) bool {
		image := fmt.Sprintf("image: %q", strings.TrimSuffix(filepath.Base(archive), ".tar")+":1")
		return !slices.ContainsFunc(all, func(s Scenario) bool { return strings.Contains(s.Manifest, image) })
	}), nil
}

func load(name, path string) (Scenario, error) {
	s := Scenario{Name: name}
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return s, err
	}
	s.About = string(archive.Comment)
	label := ""
	parts := map[string]*string{"manifest.yaml": &s.Manifest, "trigger.sh": &s.Trigger, "recover.sh": &s.Recover, "answer.yaml": &label}
	for _, f := range archive.Files {
		part := parts[f.Name]
		if part == nil {
			return s, fmt.Errorf("%s: a scenario has no file %s", path, f.Name)
		}
		*part = string(f.Data)
	}
	if s.Manifest == "" || label == "" {
		return s, fmt.Errorf("%s: it needs manifest.yaml and answer.yaml", path)
	}
	if err := yaml.UnmarshalStrict([]byte(label), &s.Want); err != nil {
		return s, err
	}
	if s.Want.Subject == "" {
		s.Want.Subject = "pod/subject"
	}
	for _, pattern := range s.Want.Matches {
		if _, err := regexp.Compile(pattern); err != nil {
			return s, err
		}
	}
	for _, cause := range slices.Concat([]answer.Cause{s.Want.Cause}, s.Want.Either, s.Want.Short, s.Want.Also, s.Want.Never) {
		if !slices.Contains(answer.Causes, cause) {
			return s, fmt.Errorf("%q is no cause", cause)
		}
	}
	for _, kind := range []answer.SymptomKind{s.Want.Symptom, cmp.Or(s.Want.Or, s.Want.Symptom)} {
		if !slices.Contains(answer.SymptomKinds, kind) {
			return s, fmt.Errorf("%q is no symptom", kind)
		}
	}
	return s, nil
}

// Asked says whether the scenario is asked in a situation. No node remembers a pod
// that none ever heard of, and of one that was well there is nothing to tell; neither
// is of one that is well after recovery, which comes before deletion.
func (s *Scenario) Asked(in Situation) bool {
	switch {
	case slices.Contains(s.Want.Except, in):
		return false
	case in == Recovered:
		return s.Recover != ""
	case in == Deleted:
		return s.Want.Recovered == nil && strings.HasPrefix(s.Want.Subject, "pod/") && !slices.Contains([]answer.SymptomKind{answer.Healthy, answer.Pending, answer.Disappeared, answer.Terminating}, s.Want.Symptom)
	}
	return true
}

// Grade is how good an answer is.
type Grade string

// The grades. Beside is the right answer with a second root cause that has no
// business there, Part the right cause with something missing, and Wrong a root
// cause that is not the one, said with confidence.
const (
	Right   Grade = "right"
	Beside  Grade = "beside"
	Part    Grade = "part"
	Unknown Grade = "unknown"
	Wrong   Grade = "wrong"
)

// Score is what a grade counts.
func (g Grade) Score() float64 {
	return map[Grade]float64{Right: 1, Beside: 0.5, Part: 0.5, Wrong: -1}[g]
}

// Judge grades an answer; the error says what keeps it from being right. A pod is ready still when its
// probe has begun to fail: whoever asks then is told why it fails.
func (e Expected) Judge(a answer.Answer) (Grade, error) {
	for _, v := range a.Verdicts {
		if slices.Contains(e.Never, v.Cause) {
			return Wrong, fmt.Errorf("it says %s", v.Cause)
		}
	}
	unknown, short := false, false
	for i, v := range a.Verdicts {
		if kind := a.Symptoms[i].Kind; e.is(v.Cause) && (kind == e.Symptom || kind == e.Or || kind == answer.Healthy && e.Symptom == answer.NotReady) && e.at(a.Symptoms[i], v) {
			if err := e.missing(a, v); err != nil {
				return Part, err
			}
			return e.beside(a)
		}
		unknown = unknown || v.Certainty == answer.Unknown // also that nothing is amiss, as far as was looked
		short = short || slices.Contains(e.Short, v.Cause)
	}
	err := fmt.Errorf("not %s: %s, but %s", e.Symptom, e.Cause, said(a))
	switch {
	case short, slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool { return e.is(v.Cause) }):
		return Part, err
	case unknown, len(a.Verdicts) == 0:
		return Unknown, err
	}
	return Wrong, err
}

// at says whether a verdict is about the expected container: of one that leads to another pod, its symptom tells whose
// trouble it is.
func (e Expected) at(s answer.Symptom, v answer.Verdict) bool {
	return e.Container == "" || e.Container == v.Container || len(v.Hops) > 0 && e.Container == s.Container
}

// is says whether a cause is the expected one, or as true.
func (e Expected) is(c answer.Cause) bool { return c == e.Cause || slices.Contains(e.Either, c) }

// said are an answer's verdicts in short.
func said(a answer.Answer) string {
	var all []string
	for i, v := range a.Verdicts {
		all = append(all, fmt.Sprintf("%s: %s", a.Symptoms[i].Kind, v.Cause))
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

// missing is what the right verdict lacks.
func (e Expected) missing(a answer.Answer, v answer.Verdict) error {
	has := func(notes []answer.Note, c answer.Cause) bool {
		return slices.ContainsFunc(notes, func(n answer.Note) bool { return n.Cause == c })
	}
	for _, c := range e.RuledOut {
		if !has(v.RuledOut, c) {
			return fmt.Errorf("%s is not ruled out", c)
		}
	}
	for _, c := range e.Contributing {
		if !has(v.Contributing, c) {
			return fmt.Errorf("%s is not among what contributed", c)
		}
	}
	text := strings.Join(strings.Fields(a.Text(answer.Style{Wide: true})), " ")
	for _, words := range e.Says {
		if !strings.Contains(text, words) {
			return fmt.Errorf("it does not say %q", words)
		}
	}
	for _, pattern := range e.Matches {
		if ok, err := regexp.MatchString("(?i)"+pattern, text); !ok || err != nil {
			return errors.Join(fmt.Errorf("it does not match %q", pattern), err)
		}
	}
	for _, words := range e.SaysNot {
		if strings.Contains(text, words) {
			return fmt.Errorf("it says %q", words)
		}
	}
	return nil
}

// Untold are the first of the words that the steps of the right verdict have to have and do not; empty where
// nothing is missing.
func (e Expected) Untold(a answer.Answer) string {
	var steps []string
	for _, v := range a.Verdicts {
		if !e.is(v.Cause) {
			continue
		}
		for _, f := range v.Fixes {
			steps = append(steps, f.Text, f.Command)
		}
	}
	told := strings.ToLower(strings.Join(steps, "\n"))
	for _, words := range e.Does {
		if !slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool { return strings.Contains(told, strings.ToLower(w)) }) {
			return words
		}
	}
	return ""
}

// fine says whether a cause may stand in the answer.
func (e Expected) fine(c answer.Cause) bool {
	return e.is(c) || c == answer.CauseUnknown || c == answer.None || slices.Contains(e.Also, c) || slices.Contains(e.Short, c)
}

// beside looks for root causes that have no business in a right answer.
func (e Expected) beside(a answer.Answer) (Grade, error) {
	for i, v := range a.Verdicts {
		kind := a.Symptoms[i].Kind
		if !e.fine(v.Cause) && kind != answer.Disappeared && kind != answer.Terminating {
			return Beside, fmt.Errorf("it also says %s: %s", kind, v.Cause)
		}
	}
	return Right, nil
}

package why

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

var rewrite = flag.Bool("rewrite", false, "write what the stories in testdata and the pages in docs now come to; read the diff before you commit it")

// stories returns the files of testdata/rules by the rule that they are about.
func stories(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range glob(t, "testdata/rules/*.txt") {
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = path
	}
	return all
}

// TestStories tells the stories in testdata/rules and compares the verdicts with those that stand there. A
// file holds the stories of one rule, below a head that says which causes it may find, what it needs to see, and
// what speaks against it. A story begins with its name after "##", and has blocks of commands,
// each ended by a line of dashes and the verdicts at that moment:
//
//	pod {…}        a pod of that spec, or with that metadata and spec, is admitted and starts. Where nothing
//	               else stands it has one container, app of image app:1, restartPolicy Always, a grace
//	               period of 2 s, and probes every 2 s with a timeout of 1 s and a failureThreshold of 3
//	code N         containers that the node ends exit with N; 137 takes the whole grace period
//	words [TEXT…]  the last lines of the log of a container that the node ends
//	fails KIND {…} the next starts come to this instead
//	during KIND {…} what happens between the node's decision to end a container and its end
//	in C KIND {…}  a fact of container C's newest run; of the pod, where C is -; because=N between KIND
//	               and body names a fact that it rests on
//	run C N KIND {…} a fact of C's run N
//	exit C {…}     C ends by itself, as fact.Exited says
//	probe C N {…}  C's probe is attempted N times, two seconds apart, as fact.Probed says
//	wait D         time passes
//	node KIND {…}  a fact of the node
//	near {…}       a fact of another pod, as the journal has it
func TestStories(t *testing.T) {
	for rule, path := range stories(t) {
		t.Run(rule, func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, tells := strings.Cut(string(raw), "## ")
			if !tells {
				return
			}
			got := head
			for _, text := range strings.Split(rest, "\n## ") {
				name, _, _ := strings.Cut(text, "\n")
				t.Run(name, func(t *testing.T) {
					got += "## " + strings.TrimRight(retell(t, text, func(s *tale, a answer.Answer) {
						check(t, a)
						s.laws(a)
					}), "\n") + "\n\n"
				})
			}
			got = strings.TrimRight(got, "\n") + "\n"
			switch {
			case t.Failed():
			case *rewrite:
				err = os.WriteFile(path, []byte(got), 0o644)
			case got != string(raw):
				t.Errorf("%s comes to something else now; see the diff after go test ./why -run TestStories -rewrite", path)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// retell runs the commands of a story, hands over each answer and returns the story with the verdicts of now.
func retell(t *testing.T, text string, asked func(*tale, answer.Answer)) string {
	var out strings.Builder
	var s *tale
	var pending []func(*tale) // settings of before the pod
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "----":
			for i+1 < len(lines) && lines[i+1] != "" { // what it came to before
				i++
			}
			a := s.ask()
			asked(s, a)
			out.WriteString("----\n" + verdictsOf(a))
			continue
		case i == 0, line == "", strings.HasPrefix(line, "#"):
		case word == "pod":
			s = tell(t, podOf(t, rest), pending...)
		case s == nil:
			pending = append(pending, func(s *tale) { s.command(word, rest) })
		default:
			s.command(word, rest)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// podOf returns the pod that the command pod describes.
func podOf(t *testing.T, text string) *v1.Pod {
	t.Helper()
	grace := int64(2)
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace}}
	var into any = &pod.Spec
	if strings.HasPrefix(text, "{metadata:") {
		into = pod
	}
	if err := yaml.UnmarshalStrict([]byte(cmp.Or(text, "{}")), into); err != nil {
		t.Fatal(err)
	}
	if pod.Generation = 1; pod.Spec.Containers == nil {
		pod.Spec.Containers = []v1.Container{{Name: "app"}}
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = cmp.Or(pod.Spec.Containers[i].Image, "app:1")
	}
	return pod
}

// command does what a line of a story says.
func (s *tale) command(word, rest string) {
	s.t.Helper()
	args, body := rest, ""
	if i := strings.Index(rest, "{"); i >= 0 {
		args, body = rest[:i], rest[i:]
	}
	var words []string
	var because []fact.ID
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	for _, w := range strings.Fields(args) {
		if id, on := strings.CutPrefix(w, "because="); on {
			because = append(because, fact.ID(number(id)))
		} else {
			words = append(words, w)
		}
	}
	if len(words) > 0 && words[0] == "-" {
		words[0] = ""
	}
	switch word {
	case "code":
		s.code = int32(number(words[0]))
	case "words":
		if s.words = nil; rest != "" {
			s.words = strings.Split(rest, " ⏎ ")
		}
	case "fails":
		s.fails = s.bodyOf(words, 0, body)
	case "during":
		s.during = s.bodyOf(words, 0, body)
	case "in":
		s.see(words[0], s.attempt(words[0]), s.bodyOf(words, 1, body), because...)
	case "run":
		s.see(words[0], int32(number(words[1])), s.bodyOf(words, 2, body), because...)
	case "exit":
		s.exit(words[0], s.bodyOf([]string{"Exited"}, 0, body).(fact.Exited))
	case "probe":
		s.probe(words[0], number(words[1]), s.bodyOf([]string{"Probed"}, 0, body).(fact.Probed))
	case "wait":
		d, err := time.ParseDuration(words[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.wait(d)
	case "node":
		s.node = append(s.node, s.wire(body))
	case "near":
		s.near = append(s.near, s.wire(body))
	default:
		s.t.Fatalf("no command %q", word)
	}
}

// bodyOf returns the body of a fact whose kind is one of the words; nil where there is no such word.
func (s *tale) bodyOf(words []string, at int, text string) fact.Body {
	s.t.Helper()
	if len(words) <= at {
		return nil
	}
	if text == "" {
		text = "{}"
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.wire(fmt.Sprintf(`{"id":1,"seen":"2030-01-01T00:00:00Z","because":[1],"kind":%q,"body":%s}`, words[at], raw)).Body
}

// wire returns a fact as the journal has it, in JSON or as a YAML flow.
func (s *tale) wire(text string) (f fact.Fact) {
	s.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return f
}

// verdictsOf prints an answer's verdicts: symptom, cause, how it is known, what a person reads, and the slots:
// the places that it needs, and those of its steps.
func verdictsOf(a answer.Answer) string {
	var out strings.Builder
	causes := func(what string, notes []answer.Note) {
		if len(notes) == 0 {
			return
		}
		var all []string
		for _, n := range notes {
			all = append(all, string(n.Cause))
		}
		fmt.Fprintf(&out, "  %s %s\n", what, strings.Join(slices.Compact(all), ", "))
	}
	for i, v := range a.Verdicts {
		at := strings.TrimSpace(string(a.Symptoms[i].Kind) + " " + a.Symptoms[i].Container)
		known := string(v.Certainty)
		if v.Rule != "" {
			known += " by " + v.Rule
		}
		fmt.Fprintf(&out, "%s: %s of %s, %s\n  %s\n", at, v.Cause, cmp.Or(v.Container, "the pod"), known, strings.Join(strings.Fields(v.Text), " "))
		for _, n := range v.Needs {
			fmt.Fprintf(&out, "  needs %s\n", n.Place)
		}
		for _, step := range v.Fixes {
			if step.ID != "" && step.ID != answer.StepReadLog {
				fmt.Fprintf(&out, "  step %s %v\n", step.ID, step.Slots)
			}
		}
		causes("contributed", v.Contributing)
		causes("ruled out", v.RuledOut)
	}
	return out.String()
}

package health

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/fact"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios in testdata print into them; read the diff before you commit it")

// TestScenarios runs the stories in testdata. A story is a list of blocks, apart
// by blank lines: commands, a line of dashes, and what is printed. The commands:
//
//	pod                  the pod's YAML follows; it is admitted, and the world settles
//	spec                 the same pod with another spec
//	answer C K V [TEXT]  from now on container C answers probe K (liveness…) with verdict V
//	habit C AFTER {…}    after each start C exits by itself, as fact.Exited says
//	oomhabit C BEFORE {…} and so long before that, a process of it is OOM-killed
//	behave C exit=N [takes=D] [ignores]   what C does when it is told to end
//	refuse C KIND {…}    the next start of C comes to nothing
//	hook C TEXT          its next postStart hook fails
//	exit C {…}           C exits
//	fact KIND [C] {…}    any other fact
//	delete GRACE         the pod is deleted
//	advance D            time passes
//	watch D              time passes, as kubectl get pod -w would show it
//	status               what the API server has of the pod
//
// exit, fact, delete and advance print the facts and the decisions.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScenario(t, file) })
	}
}

func runScenario(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := script{t: t, world: newWorld(t, Policy{})}
	var out []string
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		commands, _, runs := strings.Cut(block, "\n----")
		if !runs {
			out = append(out, block)
			continue
		}
		out = append(out, commands+"\n----\n"+strings.TrimRight(s.run(commands), "\n"))
	}
	got := strings.Join(out, "\n\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(data) {
		t.Errorf("%s prints something else now; see the diff after go test ./health -run Scenarios -rewrite. It prints:\n%s", file, got)
	}
}

// script runs the commands of one story.
type script struct {
	*world
	t       *testing.T
	printed int // steps that were shown
}

func (s *script) run(commands string) string {
	var out strings.Builder
	lines := strings.Split(commands, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if words[0] == "pod" || words[0] == "spec" {
			out.WriteString(s.show(words[0], strings.Join(lines[i+1:], "\n")))
			return out.String()
		}
		out.WriteString(s.command(words[0], words[1:], line))
	}
	return out.String()
}

func (s *script) show(command, text string) string {
	var pod v1.Pod
	if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
		s.t.Fatal(err)
	}
	if command == "pod" {
		pod.Generation = 1
		s.meet(&pod)
	} else {
		pod.Generation = s.state.p.Object.Generation + 1
		s.see(&pod)
		s.settle()
	}
	return s.news()
}

func (s *script) command(name string, args []string, line string) string {
	switch name {
	case "answer":
		s.answers[ProbeKey{Container: args[0], Kind: fact.ProbeKind(strings.ToUpper(args[1][:1]) + args[1][1:])}] = answer{
			fact.Verdict(strings.ToUpper(args[2][:1]) + args[2][1:]), strings.Join(args[3:], " "),
		}
		return ""
	case "habit":
		h := habit{after: s.duration(args[1])}
		s.decode(line, &h.exit)
		s.habits[args[0]] = h
		return ""
	case "oomhabit":
		h := s.habits[args[0]]
		h.before, h.oom = s.duration(args[1]), &fact.OOMKilled{}
		s.decode(line, h.oom)
		s.habits[args[0]] = h
		return ""
	case "behave":
		s.behave[args[0]] = s.behaviour(args[1:])
		return ""
	case "refuse":
		s.world.refuse[args[0]] = append(s.world.refuse[args[0]], s.body(args[1], line))
		return ""
	case "hook":
		s.hooks[args[0]] = append(s.hooks[args[0]], strings.Join(args[1:], " "))
		return ""
	case "watch":
		return s.watch(s.duration(args[0]))
	case "status":
		return s.status()
	}
	s.act(name, args, line)
	return s.news()
}

// act are the commands whose facts and decisions are shown.
func (s *script) act(name string, args []string, line string) {
	switch name {
	case "advance":
		s.advance(s.duration(args[0]))
	case "delete":
		grace, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.world.delete(grace)
	case "exit":
		var e fact.Exited
		s.decode(line, &e)
		s.exit(args[0], e.ExitCode, func(to *fact.Exited) {
			id, at := to.ContainerID, to.StartedAt
			*to = e
			to.ContainerID, to.StartedAt = id, at
		})
	case "fact":
		container, attempt := "", int32(0)
		if len(args) > 1 && !strings.HasPrefix(args[1], "{") {
			container = args[1]
			if p := s.runs[container]; p != nil {
				attempt = p.attempt
			}
		}
		s.feed(container, attempt, s.body(args[0], line))
		s.settle()
	default:
		s.t.Fatalf("no command %q", name)
	}
}

// body makes a fact's body of its kind and the YAML at the end of the line.
func (s *script) body(kind, line string) fact.Body {
	_, text, has := strings.Cut(line, "{")
	raw := []byte("{}")
	if has {
		var err error
		if raw, err = yaml.YAMLToJSON([]byte("{" + text)); err != nil {
			s.t.Fatal(err)
		}
	}
	var f fact.Fact
	wire := fmt.Sprintf(`{"id":1,"seen":"2030-01-01T00:00:00Z","because":[1],"kind":%q,"body":%s}`, kind, raw)
	if err := f.UnmarshalJSON([]byte(wire)); err != nil {
		s.t.Fatal(err)
	}
	if _, foreign := f.Body.(fact.Foreign); foreign {
		s.t.Fatalf("no kind of fact is called %q", kind)
	}
	return f.Body
}

func (s *script) decode(line string, into any) {
	if _, text, has := strings.Cut(line, "{"); has {
		if err := yaml.UnmarshalStrict([]byte("{"+text), into); err != nil {
			s.t.Fatalf("%s: %v (into %s)", line, err, reflect.TypeOf(into))
		}
	}
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) behaviour(args []string) behaviour {
	var b behaviour
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "exit":
			code, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				s.t.Fatal(err)
			}
			b.code = int32(code)
		case "takes":
			b.takes = s.duration(value)
		case "ignores":
			b.ignores = true
		}
	}
	return b
}

// news are the steps that were not shown yet.
func (s *script) news() string {
	var out strings.Builder
	for _, step := range s.steps[s.printed:] {
		out.WriteString(s.render(step))
	}
	s.printed = len(s.steps)
	return out.String()
}

// watch prints a line whenever kubectl get pod -w would.
func (s *script) watch(d time.Duration) string {
	var out strings.Builder
	last := ""
	show := func() {
		if line := s.line(); line != last {
			fmt.Fprintf(&out, "%-9s %s\n", s.now.Sub(s.begun), line)
			last = line
		}
	}
	show()
	before := s.onStep
	s.onStep = func(step) { show() }
	s.advance(d)
	s.onStep = before
	s.printed = len(s.steps)
	return out.String()
}

func (s *script) line() string {
	return kubectl(Status(s.state), &s.state.p.Object.Spec, s.state.p.Deletion != nil)
}

// status prints what a reader looks for in kubectl get pod -o yaml.
func (s *script) status() string {
	status := Status(s.state)
	var out strings.Builder
	fmt.Fprintf(&out, "%s\nphase %s %s\n", s.line(), status.Phase, strings.TrimSpace(status.Reason+" "+status.Message))
	for _, c := range status.Conditions {
		fmt.Fprintf(&out, "%-26s %-5s since %-6s %s\n", c.Type, c.Status, s.since(c.LastTransitionTime.Time), strings.TrimSpace(c.Reason+" "+c.Message))
	}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			s.containerStatus(&out, &list[i])
		}
	}
	return trimLines(out.String())
}

func (s *script) containerStatus(out *strings.Builder, c *v1.ContainerStatus) {
	started := "-"
	if c.Started != nil {
		started = fmt.Sprint(*c.Started)
	}
	fmt.Fprintf(out, "%s: ready=%v started=%s restarts=%d\n", c.Name, c.Ready, started, c.RestartCount)
	fmt.Fprintf(out, "  state %s\n", s.stateText(c.State))
	if c.LastTerminationState.Terminated != nil {
		fmt.Fprintf(out, "  last  %s\n", s.stateText(c.LastTerminationState))
	}
}

func (s *script) stateText(state v1.ContainerState) string {
	switch {
	case state.Running != nil:
		return "running since " + s.since(state.Running.StartedAt.Time)
	case state.Terminated != nil:
		e := state.Terminated
		return fmt.Sprintf("terminated %s %d, %s to %s: %s", e.Reason, e.ExitCode, s.since(e.StartedAt.Time), s.since(e.FinishedAt.Time), e.Message)
	case state.Waiting != nil:
		return fmt.Sprintf("waiting %s: %s", state.Waiting.Reason, state.Waiting.Message)
	}
	return "unknown"
}

func (s *script) since(at time.Time) string {
	if at.IsZero() {
		return "?"
	}
	return at.Sub(s.begun).String()
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.TrimRight(lines[i], " "), ":")
	}
	return strings.Join(lines, "\n")
}

package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// kubectl is a command line about the pod's namespace.
func (h *inquiry) kubectl(format string, args ...any) string {
	return kubectl.Command(h.Pod.Namespace, format, args...)
}

// inside returns the step that runs a command in a container, which changes nothing.
func (h *inquiry) inside(text, container string, command shell.Line) answer.Fix {
	return kubectl.Exec(text, h.Pod.Namespace, h.Pod.Name, container, command)
}

// timed has the time measured that a step's command takes.
func timed(f answer.Fix) answer.Fix {
	if f.Command != "" {
		f.Command = "time " + f.Command
	}
	return f
}

// fitting makes of what a verdict's finding would have done what can be done, and shows more than
// the verdict says.
func (h *inquiry) fitting(v *answer.Verdict) {
	v.Fixes = h.possible(h.lasting(specific(v.Fixes)))
	if i := v.Step(answer.StepReadLog); i >= 0 && quotesLog(v) {
		logs := v.Fixes[i]
		v.Fixes = slices.Delete(v.Fixes, i, i+1)
		if !slices.ContainsFunc(v.Fixes, changes) && (len(v.Fixes) == 0 || len(v.Fixes) < beside && !wholeLog(v.LastWords)) {
			v.Fixes = append(v.Fixes, h.inspect("read more of its log", logs.Slots[answer.SlotCommand]))
		}
	}
	h.configuredBy(v)
	h.decide(v)
	h.nameNode(v)
}

// specific drops the generic step about a refusal if another step changes what was refused.
func specific(fixes []answer.Fix) []answer.Fix {
	anything := func(f answer.Fix) bool { return f.ID == answer.StepAllowAny }
	if !slices.ContainsFunc(fixes, func(f answer.Fix) bool { return !anything(f) && changes(f) }) {
		return fixes
	}
	return slices.DeleteFunc(slices.Clone(fixes), anything)
}

// lasting leaves out what a container advises about its pod's own address, where there is more to do: the pod that
// comes of the change has another one.
func (h *inquiry) lasting(fixes []answer.Fix) []answer.Fix {
	own := func(f answer.Fix) bool {
		return f.ID == answer.StepAdvice && slices.ContainsFunc(h.addresses(), func(ip string) bool { return words.Has(f.Slots[answer.SlotAdvice], ip) })
	}
	if !slices.ContainsFunc(fixes, func(f answer.Fix) bool { return !own(f) && changes(f) }) {
		return fixes
	}
	return slices.DeleteFunc(slices.Clone(fixes), own)
}

// lastLines and moreLines are how much of a log's end a step shows; beside so many other steps it is left out where
// the answer quotes it.
const lastLines, moreLines, beside = 20, 100, 2

// quotesLog says whether a verdict shows what the log says at its end.
func quotesLog(v *answer.Verdict) bool {
	return len(v.LastWords) > 0 || v.QuotesLog(answer.RoleEnd)
}

// wholeLog says whether lines are all that there is to read of a log, from its beginning or since
// its container was last well: of a longer one more would have been kept.
func wholeLog(lines []string) bool {
	bytes := 0
	for _, line := range lines {
		bytes += len(line) + 1
	}
	return len(lines) > 0 && len(lines) < fact.MostLastLines && bytes < fact.MostLastBytes/2
}

// nameNode puts the node's name where a command is to be run there.
func (h *inquiry) nameNode(v *answer.Verdict) {
	for i, f := range v.Fixes {
		if node := h.podSpec().NodeName; node != "" {
			v.Fixes[i] = kubectl.NameNode(f, node)
		}
	}
}

// possible leaves out what would run in a container that is down, or that was up too
// briefly for anybody to get into it.
func (h *inquiry) possible(fixes []answer.Fix) []answer.Fix {
	return slices.DeleteFunc(slices.Clone(fixes), func(f answer.Fix) bool {
		name := f.Slots[answer.SlotContainer]
		return (f.ID == answer.StepExec || f.ID == answer.StepTop) && slices.Contains(h.Containers(), name) && h.hardlyUp(name)
	})
}

// getIn is how long a container has to be up for somebody to get into it.
const getIn = 10 * time.Second

// hardlyUp says whether a container is down, or its last run was and was short.
func (h *inquiry) hardlyUp(name string) bool {
	runs := h.Runs(name)
	if len(runs) == 0 {
		return true
	}
	if newest := runs[len(runs)-1]; newest.Exit != nil || newest.Failed != nil || len(runs) == 1 {
		return newest.Exit != nil || newest.Failed != nil
	}
	before := runs[len(runs)-2]
	return before.Exit != nil && before.Started != nil && before.Exit.When().Sub(before.Started.When()) < getIn
}

// why asks about this pod again.
func (h *inquiry) why(flags string) string {
	return h.kubectl("why pod/%s %s", h.Pod.Name, shell.Line(flags))
}

func (h *inquiry) inspect(text, command string) answer.Fix {
	return kubectl.Inspect(text, command)
}

// specFix is a change of the pod's template, which makes new pods.
func (h *inquiry) specFix(text string) answer.Fix {
	return kubectl.EditTemplate(h.Pod.Namespace, h.Object, text)
}

// nodeFix shows how the pod's node is: all that is asked there is asked by Whylet's own node alone.
func (h *inquiry) nodeFix() answer.Fix {
	switch node := h.podSpec().NodeName; {
	case h.FromAPI && node == "":
		return h.inspect("see how the nodes are", "kubectl get nodes")
	case h.Beside == "" && !h.FromAPI || node == "":
		return kubectl.OnNode("see how the node is", "whylet status")
	default:
		return h.inspect("check node "+node, kubectl.Command("", "describe node %s", node))
	}
}

func (h *inquiry) limitsFix(text string) answer.Fix {
	f := h.specFix(text)
	f.Risk = answer.Limits
	return f
}

// logsFix shows a run's last words.
func (h *inquiry) logsFix(run *history.Run) answer.Fix {
	previous := prose.Whether(run.Exit != nil && h.Last(run.Container).Attempt != run.Attempt, " -p", shell.Line(""))
	logs := func(lines int) string {
		return h.kubectl("logs %s -c %s%s --tail=%d", h.Pod.Name, run.Container, previous, lines)
	}
	return h.inspect("read its log", logs(lastLines)).As(answer.StepReadLog, answer.Slots{answer.SlotCommand: logs(moreLines)})
}

func (h *inquiry) describeFix() answer.Fix {
	return h.inspect("see what Kubernetes shows", h.kubectl("describe pod %s", h.Pod.Name))
}

// probeFixes are what can be done about a probe that is too strict.
func (h *inquiry) probeFixes(p *probing) []answer.Fix {
	fixes := []answer.Fix{}
	switch ev := p.last.Evidence; {
	case p.mode == refused:
		fixes = append(fixes, h.inside("see which ports it listens on", p.run.Container, kubectl.Sockets))
	case ev != nil && ev.Handler == fact.HTTPGet && ev.Target != "" && !(p.mode == answered && words.Told(ev.Output) != ""):
		fixes = append(fixes, h.inside("ask the same from inside", p.run.Container, shell.Linef("wget -S -O- -T 30 %s", prose.Brief(ev.Target, 100))))
	}
	if p.mode == answered && !p.worked() {
		switch ev := p.last.Evidence; {
		case ev.Status == 401, ev.Status == 403 && !p.complainsNow(): // its log would say another reason
			fixes = append(fixes, h.specFix(fmt.Sprintf("probe a path that needs no login (%s), or send what it asks for in %s", p.field("path"), p.field("httpHeaders"))))
		case ev.Status >= 400 && ev.Status < 500 && (knowledge.HostHeader.In(ev.Output) || p.saysOfHost()):
			fixes = append(fixes, h.specFix(fmt.Sprintf("have the probe send a Host header that it takes, as %s: [{name: Host, value: NAME}]: without one it gets the pod's address", p.field("httpHeaders"))))
		}
	}
	if p.mode == silent && p.timeout() < 5*time.Second {
		fixes = append(fixes, h.specFix(fmt.Sprintf("raise %s of container %s above %d, if its answers are correct but late", p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()))))
	}
	return fixes
}

// saysOfHost says whether the container's log tells now that it does not take the Host header that it got.
func (p *probing) saysOfHost() bool {
	_, said := p.complaint()
	return knowledge.HostHeader.In(said)
}

// field is a setting of the probe, as a manifest has it: readinessProbe.timeoutSeconds, or of what it
// asks, as readinessProbe.httpGet.port.
func (p *probing) field(name string) string {
	at := kindWord(p.kind) + "Probe."
	if as := askedBy(p.spec).as; as != "" && name != "timeoutSeconds" && name != "failureThreshold" {
		at += as + "."
	}
	return at + name
}

// portFix has the probe ask where the container listens.
func (p *probing) portFix(mine []fact.Listener) answer.Fix {
	ports := portsOf(mine)
	all := strings.Join(ports, " or ")
	return p.h.specFix(fmt.Sprintf("set %s of container %s to %s", p.field("port"), p.run.Container, prose.Whether(len(ports) == 1, all+", where it listens", "that of its ports which is to be asked: "+all)))
}

func portsOf(all []fact.Listener) (ports []string) {
	for _, l := range all {
		if _, port, ok := splitAddress(l.Address); ok && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// memoryQuantity returns bytes as a quantity of Kubernetes, rounded up; empty where there are none.
func memoryQuantity(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	mebibytes := (bytes + 1<<20 - 1) >> 20
	return resource.NewQuantity(mebibytes<<20, resource.BinarySI).String()
}

// raiseMemory sets another memory limit of a container.
func (h *inquiry) raiseMemory(container, text string, bytes int64) answer.Fix {
	f := h.limitsFix(text)
	f.Command = cmp.Or(kubectl.SetMemory(h.Pod.Namespace, h.Object, container, memoryQuantity(bytes)), f.Command)
	return f
}

// memoryFixes weigh raising a limit against finding out what eats it.
func (h *inquiry) memoryFixes(run *history.Run, o oomRecord) []answer.Fix {
	var peak int64
	for _, s := range run.Samples {
		peak = max(peak, fact.Of[fact.Sampled](s).MemoryPeak)
	}
	raised := 2 * o.Limit
	higher := prose.Whether(o.Limit > 0, fmt.Sprintf(": set its resources.limits.memory to %s, for example", memoryQuantity(raised)), "")
	text := fmt.Sprintf("raise the memory limit of container %s if it needs that much%s; if its use only ever grows, find the leak: a higher limit only delays the next kill", run.Container, higher)
	if o.Limit > 0 && peak >= o.Limit {
		text = fmt.Sprintf("raise the memory limit of container %s above %s if it needs that much%s; a leak will reach any limit", run.Container, prose.Size(o.Limit), higher)
	}
	first, less := false, "have container "+run.Container+" use less: limit its caches, its heap or its number of workers"
	if g, ok := heapOf(h.spec(run.Container)); ok && o.Limit > 0 && float64(g.bytes) > besideHeap*float64(o.Limit) {
		first, less = true, fmt.Sprintf("lower %s, to %s at most%s: all else that the process needs comes on top", g, prose.Size(int64(besideHeap*float64(o.Limit))), prose.Whether(strings.Contains(h.valuesOf(run.Container), "-Xms"), ", and -Xms with it", ""))
		raised = max(raised, int64(float64(g.bytes)/besideHeap))
		text = fmt.Sprintf("or raise the memory limit to %s at least, for a heap of that size", prose.Size(int64(float64(g.bytes)/besideHeap)))
	} else if s, allows := roomier(h.spec(run.Container), o.Limit); allows > 0 {
		first, less = true, fmt.Sprintf("lower %s (%s), which allows more than that limit has beside all else: to %s at most", s.name, s.value, prose.Size(int64(besideHeap*float64(o.Limit))))
	}
	fixes := []answer.Fix{h.raiseMemory(run.Container, text, raised), h.specFix(less)}
	if first {
		slices.Reverse(fixes)
	}
	if h.LimitRanged(run.Container) {
		fixes = append(fixes, h.inspect("see which LimitRange sets it, and the most that it allows", h.kubectl("describe limitrange")))
	}
	return append(fixes, h.inspect("see how much memory it uses, now and in a while", h.kubectl("top pod %s --containers", h.Pod.Name)).As(answer.StepTop, answer.Slots{answer.SlotContainer: run.Container}))
}

// advice is what a container says is to be done about what fails, where its log or its termination
// message says that, and the cause alone is not all that is asked.
func (e ending) advice() logline.Advice {
	if e.h.Causes {
		return logline.Advice{}
	}
	if strings.TrimSpace(e.exit.Message) != "" {
		return e.h.read(strings.Split(e.exit.Message, "\n")).Advice()
	}
	if said := e.storyAtLast(); said.Reason() == e.inItsWords() {
		return said.Advice()
	}
	return logline.Advice{} // what it ends for was said long before
}

// mostAdvised and mostToldAgain bound advice where it stands as it is said, and where the answer has
// it already.
const mostAdvised, mostToldAgain = 280, 100

// removesData fits advice to remove data, and no file of a lock.
var removesData = regexp.MustCompile(`(?i)\b(?:remov|delet|eras|wip|drop)\w*\b[^.]*\b(?:data|databases?|volumes?)(?:[ .,;]|$)`)

// advised puts what a finding's words advise in front of its fixes, for to read more of them. What
// the answer quotes, as tells has it, is told in short.
func (f finding) advised(tells func(string) bool) []answer.Fix {
	a := f.advice
	if a.Text == "" {
		return f.fixes
	}
	within := tells(a.Text)
	if within && (a.Brief == "" || slices.ContainsFunc(f.fixes, changes)) {
		return f.fixes // it tells how something has to be, and so what is wrong; or there is more to do than it says
	}
	what := prose.Whether(within, prose.Brief(a.Brief, mostToldAgain), fmt.Sprintf("%q", prose.Midst(a.Text, mostAdvised)))
	fix := answer.Fix{Text: "check what its words ask: " + what, Risk: answer.Restarts}
	if !a.Asks {
		fix.Text, fix.ID, fix.Slots = "do what its words advise: "+what, answer.StepAdvice, answer.Slots{answer.SlotAdvice: what}
	}
	fix = fix.About(words.Variables(what)...)
	rest := slices.Clone(f.fixes)
	if i := slices.IndexFunc(rest, func(f answer.Fix) bool { return f.ID == answer.StepReadLog }); i >= 0 {
		if a.Looks || a.Asks {
			fix.Command = rest[i].Slots[answer.SlotCommand]
		}
		rest = slices.Delete(rest, i, i+1)
	}
	switch {
	case a.Removes:
		fix.Risk, fix.Command = answer.Destructive, ""
		if removesData.MatchString(a.Text) {
			fix.Text += "; delete data only if they are not needed any more"
		}
	case a.Looks, a.Asks:
		fix.Risk = answer.Inspect
	}
	return append([]answer.Fix{fix}, rest...)
}

// changes reports whether a step changes something.
func changes(f answer.Fix) bool { return f.Risk != answer.Inspect }

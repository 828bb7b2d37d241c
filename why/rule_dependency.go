package why

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// needed is a dependency as words tell of it.
type needed struct {
	// Place is where it should be, as name, address or host:port; empty where the words
	// do not say.
	place, what, said string
	since             time.Time // when it was asked; zero where that is not known
}

// dependency reads the words of one line; ok is false where they are about none.
func dependency(line string) (n needed, ok bool) {
	what, place, ok := words.Unreached(line)
	return needed{place: place, what: what, said: line}, ok
}

// lastNeed is the dependency of which the last lines of a log tell. Of an error that names no place it is the one
// that its program said right before that it connects to.
func lastNeed(lines []string) (needed, bool) {
	n, ok := neededAtLast(lines)
	if ok && n.place == "" {
		n.place = beganToAsk(lines, n.said)
	}
	return n, ok
}

// connecting fits what a program says as it begins to ask another.
var connecting = regexp.MustCompile(`(?i)\b(?:connecting to|checking|contacting|calling|requesting|waiting for)\b`)

// beganToAsk is the place of the last thing that lines say before an error and its stack, where that is that their
// program connects to it: whatever it said in between may be of another that it asked.
func beganToAsk(lines []string, failed string) string {
	at := slices.Index(lines, failed)
	for i := at - 1; i >= 0; i-- {
		line := lines[i]
		switch {
		case connecting.MatchString(line):
			return words.Place(line)
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "Traceback "), i > 0 && logline.IsFrame(lines[i-1], line):
		default:
			return ""
		}
	}
	return ""
}

// neededAtLast is a dependency among the last three lines that are no stack trace, where no other reason follows it.
func neededAtLast(lines []string) (needed, bool) {
	root := words.Read(lines).Root()
	if n, ok := dependency(root); ok {
		return n, true
	}
	looked := 0
	for _, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "  File ") || strings.HasPrefix(line, "Traceback (") {
			continue
		}
		if n, ok := dependency(line); ok {
			return n, true
		}
		if looked++; looked == 3 || !inVain.MatchString(line) && (logline.IsRaised(line) || line == root && words.Complains(line)) {
			break
		}
	}
	return needed{}, false
}

// inVain fits what a program says that gives up a wait, of which what it says before is the reason.
var inVain = regexp.MustCompile(`(?i)\btime(?:d )?out (?:while )?waiting\b|\bgave up waiting\b|\bstill not (?:ready|available|reachable) after\b|\bwill (?:try again|retry)\b|\b(?:is|are) (?:not |un)(?:reachable|available)\b`)

// named words where a dependency should be.
func (n needed) named() string {
	switch socket := words.Socket(n.said); {
	case n.place == "":
		return "something that it needs"
	case n.place == "unix" && socket != "":
		return "socket " + socket + ", which it needs"
	}
	return answer.MarkNeed(answer.Need{Place: n.place}) + ", which it needs"
}

// unmet words what one that needs it lacks: to reach it, or an answer in time of one that it reaches.
func (n needed) unmet(reach, gets string) string {
	if knowledge.TooLate.In(n.said) {
		return fmt.Sprintf("%s no answer in time from %s", gets, n.named())
	}
	if knowledge.NoName.In(n.said) && n.place != "" {
		return fmt.Sprintf("%s %s: %s", reach, n.named(), n.what)
	}
	if n.what == unsaid {
		return fmt.Sprintf("%s %s", reach, n.named())
	}
	return fmt.Sprintf("%s %s (%s)", reach, n.named(), n.what)
}

// fixes show what stands for the place in the cluster.
func (n needed) fixes(h *inquiry) []answer.Fix {
	if knowledge.NoDNS.In(n.said) || n.what == noDNS { // the place itself was never asked
		servers := h.nameServers()
		if len(servers) == 0 {
			return []answer.Fix{h.inspect("see whether the cluster's DNS runs", "kubectl -n kube-system get pods -l k8s-app=kube-dns").As(answer.StepCheckDNS, nil)}
		}
		n.place = servers[0]
	}
	host, _, ok := splitAddress(n.place)
	if !ok {
		host = n.place
	}
	space := h.Pod.Namespace
	parts := strings.Split(host, ".")
	isService := len(parts) <= 2 || parts[2] == "svc"
	switch {
	case host == "", loopback(host), host == "unix" && words.Socket(n.said) != "":
		return nil
	case numeric(host):
		return []answer.Fix{h.inspect("see whose address that is", kubectl.Command("", "get services,pods -A -o wide | grep -F %s", host)).As(answer.StepWhose, nil)}
	case !isService:
		return []answer.Fix{h.inspect("see whether the name is known in the cluster", kubectl.Command("", "run dns-test --rm -it --image=busybox --restart=Never -- nslookup %s", host))}
	case len(parts) > 1 && h.Object != nil && h.Object.Spec.Subdomain == parts[1]:
		return []answer.Fix{kubectl.Why("see why pod "+parts[0]+" does not answer, and do what that says", "pod", space, parts[0])} // of its own StatefulSet
	case len(parts) > 1:
		space = parts[1]
	}
	return []answer.Fix{kubectl.Why("see why Service "+parts[0]+" does not answer, and do what that says", "svc", space, parts[0])}
}

func numeric(host string) bool {
	return strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":")
}

// noDNS is what words say of a name server that did not answer ([words.Unreached]).
const noDNS = "its name is not resolved"

// proxyRefuses is the outcome for a client whose proxy refused the tunnel.
const proxyRefuses = "the proxy refuses it"

// unsaid is what words of one that did not reach another come to where they say no more than that.
const unsaid = "it is not reached"

// dependencySaid: it gave up on something that it needs and could not reach.
func dependencySaid(e ending) *finding {
	if !e.failed() || e.exit.ExitCode > 128 && e.exit.ExitCode != 255 {
		return nil
	}
	n, ok := e.h.askedFor(e.run.Container, e.exit.Message)
	if !ok {
		n, ok = lastNeed(e.saidAtLast())
		if at, refuses := e.h.refusingProxy(e.run.Container, n.said); refuses {
			n.place, n.what = at, proxyRefuses
		}
	}
	if !ok || n.place == "" && n.what == unsaid {
		return nil // its own words say more than could be concluded from them
	}
	steps := n.fixes(e.h)
	if !slices.ContainsFunc(steps, func(f answer.Fix) bool { return f.ID == answer.StepExplain }) {
		steps = append(steps, e.h.whereTo(n.place)...)
	}
	f := e.finds(answer.DependencyDown, strong).
		says("Container %s ended%s with exit code %d because it %s: %s", e.run.Container, e.after(), e.exit.ExitCode, n.unmet("could not reach", "got"), gist(n.said)).
		fix(steps...).
		fix(e.h.logsFix(e.run), e.h.addressFix(e.run.Container, n.place, fmt.Sprintf("if the address%s is wrong: correct it", inBrackets("", n.place))))
	why, fix := e.h.notBegunYet(e.run.Container, n.place, n.said)
	if why != "" {
		f.text += "."
		f.because, f.fixes = []string{why}, []answer.Fix{fix, e.h.logsFix(e.run)}
	}
	if why == "" && loopback(hostIn(n.place)) && e.h.soleContainer() {
		f.text = strings.TrimSuffix(f.text, ".") + "."
		f.because = append(f.because, fmt.Sprintf("%s is the pod itself, in which no other container runs.", prose.Upper(hostIn(n.place))))
		f.first(e.h.elsewhere(e.run.Container, n.place))
	}
	if n.what == proxyRefuses {
		f.text = strings.TrimSuffix(f.text, ".") + "."
		e.h.meant(f, e.run.Container, n.said)
	}
	e.h.given(f, e.run.Container, n.said)
	return f
}

// portOf fits the port in an address, or behind the word.
var portOf = regexp.MustCompile(`(?:\S:|\bport )(\d{2,5})\b`)

// notBegunYet says of an init container that asks its own pod that the containers which serve there are
// started only when it has ended, and what to do about that; empty of any other.
func (h *inquiry) notBegunYet(container, place, said string) (why string, fix answer.Fix) {
	host, port := hostIn(place), portOf.FindStringSubmatch(place+" "+said)
	if port == nil || !loopback(host) || !h.IsInit(container) {
		return "", answer.Fix{}
	}
	who := "what serves there"
	for _, c := range h.Object.Spec.Containers {
		if slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return fmt.Sprint(p.ContainerPort) == port[1] }) {
			who = "container " + c.Name
		}
	}
	why = fmt.Sprintf("Port %s of %s is that of the pod itself, whose containers are started only when its init containers have ended: %s does not run yet.", port[1], host, who)
	return why, h.specFix(fmt.Sprintf("have %s started before: as an init container with restartPolicy: Always (a sidecar) and a startupProbe in front of %s; or do the work of %s in a container that waits for it", who, container, container))
}

// probeWaits: it does not listen yet, because it waits for something else to come.
func probeWaits(p *probing) *finding {
	at, look, ok := p.refusedAndLooked()
	if !ok || len(p.before) > 0 || p.atWork(look) || p.up(look) {
		return nil
	}
	f := p.finds(answer.DependencyDown, strong, at)
	n, how := p.waitsFor(at)
	if how == "" {
		return nil
	}
	f.text = fmt.Sprintf("Container %s has not come up, because it waits for %s. Until then it is idle and listens on no port, so %s is refused.", p.run.Container, how, p.what())
	f.fixes = append(n.fixes(p.h), p.h.logsFix(p.run))
	if p.kind != fact.Readiness {
		f.fix(p.h.specFix("give the wait an init container, or a startupProbe as long as it may take"))
	}
	return f
}

// awaited is a place that is waited for, marked as such.
func awaited(place string) string { return answer.MarkNeed(answer.Need{Place: place, Awaited: true}) }

// probeWaitsByLog is [probeWaits] by the API alone: the log ends with a wait for a dependency, and the probe never succeeded.
func probeWaitsByLog(p *probing) *finding {
	_, lines := p.run.Said(time.Time{})
	if !p.h.FromAPI || p.mode != refused || p.worked() || p.run.Exit != nil || len(lines) == 0 || words.LastOf(lines, knowledge.SaysReady) >= 0 {
		return nil
	}
	n, ok := lastNeed(lines[max(0, len(lines)-3):])
	last := lines[len(lines)-1]
	if !ok || n.place == "" || !knowledge.Waits.In(last) && !inVain.MatchString(last) {
		return nil
	}
	f := p.finds(answer.DependencyDown, fair).
		says("Container %s has not come up, because it waits for %s (%s): %s. It does not listen yet, so %s is refused.", p.run.Container, awaited(n.place), n.what, quote(n.said, 100), p.what())
	return f.fix(append(n.fixes(p.h), p.h.logsFix(p.run))...)
}

// waitsFor says what an idle container waits for: by a connection on its way, or by
// what it said last. how is empty where neither tells.
func (p *probing) waitsFor(at *fact.Fact) (n needed, how string) {
	_, lines := p.log()
	if p.run.Exit != nil {
		lines = p.run.LastSaid(p.since())
	}
	return p.h.waitsFor(at, lines)
}

// waitsFor is the same of any container, by a look and the end of its log.
func (h *inquiry) waitsFor(at *fact.Fact, lines []string) (n needed, how string) {
	// What it says that it waits for may stand beside what each try came to.
	waits := ""
	for _, line := range slices.Backward(lines[max(0, len(lines)-3):]) {
		if waits == "" && knowledge.Waits.In(line) {
			waits = line
		}
	}
	if n, ok := lastNeed(lines); ok {
		n.place = cmp.Or(n.place, words.Place(waits))
		return n, fmt.Sprintf("%s (%s): %s", cmp.Or(awaited(n.place), "something"), n.what, quote(n.said, 100))
	}
	if n, how := h.awaited(at, forever); how != "" && words.LastOf(lines, knowledge.SaysReady) < 0 {
		return n, how // who says that it is ready awaits work there
	}
	if waits != "" {
		return needed{place: words.Place(waits), said: waits}, fmt.Sprintf("something, as it says: %s", quote(waits, 100))
	}
	return n, ""
}

// forever is longer than anything waits.
const forever = time.Duration(math.MaxInt64)

// probeAsksAnother: the command asks something else, which fails it.
func probeAsksAnother(p *probing) *finding {
	if p.mode != exitCode && p.mode != commandLate || p.last.Evidence == nil {
		return nil
	}
	ev := p.last.Evidence
	host := p.h.askedBy(ev.Target)
	if host == "" {
		return nil
	}
	n := needed{place: host}
	how := p.how()
	if said, ok := dependency(ev.Output); ok {
		how = said.what
	} else if what, _, failed := words.FailedBy(ev.Output); failed {
		how = what
	}
	f := p.finds(answer.DependencyDown, strong).
		says("%s asks %s, and not container %s itself: %s.", prose.Upper(p.what()), answer.MarkNeed(answer.Need{Place: host}), p.run.Container, how).
		fix(n.fixes(p.h)...).fix(p.h.specFix("have the probe test the container itself: what others lack takes it out of service, or restarts it, for nothing"))
	return f
}

// askedBy is the host other than the pod itself that a command asks; "" where it names none.
func (h *inquiry) askedBy(command string) string {
	host, by := words.Asked(command)
	if by != "" {
		host = strings.ToLower(strings.ReplaceAll(by, "_", "-"))
	}
	if host == "" || loopback(host) || host == h.Pod.Name || h.ownAddress(host) {
		return ""
	}
	return host
}

func (h *inquiry) ownAddress(host string) bool { return slices.Contains(h.addresses(), host) }

// addresses are those that the pod has, or had.
func (h *inquiry) addresses() (all []string) {
	for _, f := range fact.All[fact.SetUpDone](h.Facts) {
		all = append(all, fact.Of[fact.SetUpDone](f).IPs...)
	}
	return all
}

// together is how close the first failures of several pods lie when one thing
// made them fail.
const together = 1 // periods

// sameAge is how close the starts of pods lie that count as started together.
const sameAge = 15 * time.Second

// probeDependency: the probe tests something else, which is down: pods that have
// the same probe and had been well began to fail at the same time and in the same way.
func probeDependency(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || len(p.before) == 0 && !p.halfSeen() || p.mode != answered && p.mode != exitCode && p.mode != commandLate {
		return nil
	}
	first := p.h.neighboursFailures()
	var names []string
	independent := 0
	for f, b := range every[fact.Probed](p.h.Neighbours) {
		if first[f.Pod] != f || b.Evidence == nil || modeOf(b) != p.mode || b.Evidence.Status != ev.Status || pathOf(b.Evidence.Target) != pathOf(ev.Target) || b.Evidence.Output != ev.Output {
			continue
		}
		if f.When().Sub(p.from).Abs() > together*p.period() {
			continue
		}
		names = append(names, f.Pod.String())
		if p.otherAge(f) {
			independent++
		}
	}
	if len(names) == 0 {
		return nil
	}
	f := p.finds(answer.DependencyDown, fair)
	slices.Sort(names)
	if independent > 1 {
		f.weight = strong
	}
	f.text = fmt.Sprintf("What %s depends on is down: %s began to fail in the same way at the same time (%s).", p.what(), prose.Plural(len(names), "other pod"), prose.Brief(strings.Join(names, ", "), 120))
	f.fixes = []answer.Fix{p.h.specFix("probe only the container itself, so that an outage elsewhere does not restart or remove it"), p.h.inspect("see what the pods have in common", "kubectl get pods -A -o wide")}
	return f
}

// neighboursFailures are the first failed attempts that are known of other pods.
func (h *inquiry) neighboursFailures() map[fact.Pod]*fact.Fact {
	first := map[fact.Pod]*fact.Fact{}
	for f, b := range every[fact.Probed](h.Neighbours) {
		if bad(b) && (first[f.Pod] == nil || f.When().Before(first[f.Pod].When())) {
			first[f.Pod] = f
		}
	}
	return first
}

// otherAge says whether a neighbour is known to have started at another time.
func (p *probing) otherAge(failed *fact.Fact) bool {
	if p.run.Started == nil {
		return false
	}
	var start time.Time
	for f := range every[fact.Started](p.h.Neighbours) {
		if f.Pod == failed.Pod && f.Container == failed.Container && f.When().Before(failed.When()) && f.When().After(start) {
			start = f.When()
		}
	}
	return !start.IsZero() && start.Sub(p.run.Started.When()).Abs() > sameAge
}

// pathOf is a probe's target without the address of its pod.
func pathOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		_, path, _ := strings.Cut(rest, "/")
		return "/" + path
	}
	return target
}

package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// Said are words of a pod, and as what they are shown.
type Said struct{ Words, Shown string }

// Says are what a pod says of an error: in its logs, and in what its verdict quotes.
func Says(a *answer.Answer, v answer.Verdict) []Said {
	var all []Said
	for _, text := range logged(a, v) {
		all = append(all, Said{text, text})
	}
	if said := v.Words(); said != "" && v.Cause != answer.None {
		all = append(all, Said{said, v.Reason()})
	}
	return all
}

// Words are the same, as words alone.
func Words(a *answer.Answer, v answer.Verdict) (all []string) {
	for _, s := range Says(a, v) {
		all = append(all, s.Words)
	}
	return all
}

// logged are what a pod's logs say of an error.
func logged(a *answer.Answer, v answer.Verdict) []string {
	var all []string
	for _, c := range a.Complaints {
		if !c.Before {
			all = append(all, c.Text)
		}
	}
	if story := words.Read(v.LastWords); story.Troubled() {
		all = append(all, story.Reason())
	}
	return all
}

// Quoted are the same of what a verdict quotes as a reason, or what words that it quotes have in quotes themselves.
func Quoted(a *answer.Answer, v answer.Verdict) []string {
	return slices.Concat(logged(a, v), inner(v.Told), reasons(v.Told))
}

// inQuotation fits what words have in quotes themselves.
var inQuotation = regexp.MustCompile(`"((?:[^"\\]|\\.)+)"`)

// inner are what was answered, and what other words that are quoted have in quotes themselves.
func inner(t answer.Told) (all []string) {
	for _, q := range t.Quotes {
		if q.Role == answer.RoleAnswer {
			all = append(all, q.Text)
			continue
		}
		for _, m := range inQuotation.FindAllStringSubmatch(q.Text, -1) {
			if q.Role != answer.RoleLast {
				all = append(all, strings.ReplaceAll(m[1], `\"`, `"`))
			}
		}
	}
	return all
}

// reasons are what a log gives as the reason, or what was said last before an end.
func reasons(t answer.Told) (all []string) {
	for _, q := range t.Quotes {
		if q.Role == answer.RoleLog || q.Role == answer.RoleEnd {
			all = append(all, q.Text)
		}
	}
	return all
}

// sentBy is what servers log of who asked them, whom nothing was asked.
var sentBy = regexp.MustCompile(`(?i)\b(?:referr?er|client|remote_addr)[:=]? ?"?[^\s",]+"?|\bfrom \(?[\d\[][^\s",]*`)

// before and after are what stands around a name that is one by itself.
const before, after = `(?:^|[^\w.-])`, `(?:\.?(?:[^\w.-]|$))`

// called are the ways in which words call a Service by its name as a place, where %s is the
// name, with its namespace or without: in a URL, after a word for a server, after one for
// waiting or connecting, or behind a user's.
var called = []string{
	`(?i)\b[a-z][a-z0-9+.-]*://(?:[^/@\s'"]*@)?%s(?::(\d{2,5}))?` + after,
	`(?i)\b(?:host|hostname|server|upstream|backend|broker|service|database server)(?:[ =:]|['"]? ?(?:=>|[=:]) ?)['"]?%s['"]?` + after,
	`(?i)\b(?:wait(?:s|ing)?|connect(?:s|ed|ing|ion)?|reach|talk(?:ing)?|speak(?:ing)?)\b[^.;:]{0,20}\b(?:for|on|until|to|with)\s+(?:(?:the\s+)?(?:service|server|host|database|queue|broker)\s+)?['"]?%s['"]?` + after,
	`(?i)(?:^|\s)[\w.-]+@%s: `,
	`(?i)\b(?:reach(?:ing)?|contact(?:ing)?|call(?:ing)?)\s+['"]?%s['"]?` + after,
}

// Called says whether words of an error call a Service by its name, as only a place is called:
// see called, with a port that it has, with its namespace, or by its address.
func Called(text string, s *v1.Service) (port int32, ok bool) {
	text = sentBy.ReplaceAllString(text, " ")
	name := regexp.QuoteMeta(s.Name)
	full := name + `(?:\.` + regexp.QuoteMeta(s.Namespace) + `(?:\.svc[\w.]*\w)?)?`
	if !strings.Contains(strings.ToLower(text), strings.ToLower(s.Name)) {
		return callsAddress(text, s)
	}
	for _, form := range called {
		if m := regexp.MustCompile(fmt.Sprintf(form, full)).FindStringSubmatch(text); m != nil {
			return portIn(m), true
		}
	}
	if regexp.MustCompile(before + name + `\.` + regexp.QuoteMeta(s.Namespace) + `(?:\.svc[\w.]*\w)?` + `(?:\.?(?:[^\w-]|$))`).MatchString(text) {
		return 0, true
	}
	for _, m := range regexp.MustCompile(before+full+`:(\d{2,5})\b`).FindAllStringSubmatch(text, -1) {
		if port := portIn(m); hasPort(s, port) {
			return port, true
		}
	}
	return callsAddress(text, s)
}

// Named is where settings name a Service, and with which port: first where they call it as a
// place, then where its name stands with a port, then wherever it stands.
func Named(texts []Setting, s *v1.Service) (where string, port int32, ok bool) {
	of := "" // pods behind a headless Service have names below its own
	if s.Spec.ClusterIP == v1.ClusterIPNone {
		of = `(?:[\w-]+\.)?`
	}
	named := regexp.MustCompile(before + of + regexp.QuoteMeta(s.Name) + `(?:\.` + regexp.QuoteMeta(s.Namespace) + `(?:\.svc[\w.]*)?)?(?::(\d{2,5})\b|[^\w.-]|$)`)
	for _, t := range texts {
		m := named.FindStringSubmatch(t.Text)
		if m == nil {
			continue
		}
		if at, called := Called(t.Text, s); called {
			return t.Where, cmp.Or(at, portIn(m)), true
		}
		if at := portIn(m); !ok || port == 0 && at != 0 {
			where, port, ok = t.Where, at, true
		}
	}
	return where, port, ok
}

func callsAddress(text string, s *v1.Service) (port int32, ok bool) {
	ip := s.Spec.ClusterIP
	if ip == "" || ip == v1.ClusterIPNone || !strings.Contains(text, ip) {
		return 0, false
	}
	m := regexp.MustCompile(`(?:^|[^\d.])` + regexp.QuoteMeta(ip) + `(?::(\d{2,5}))?(?:[^\d.]|\.?$|\. )`).FindStringSubmatch(text)
	return portIn(m), m != nil
}

func portIn(match []string) int32 {
	if len(match) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(match[1], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func hasPort(s *v1.Service, port int32) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p v1.ServicePort) bool { return p.Port == port || p.TargetPort.IntVal == port })
}

// CallsPod says whether words call a pod by its name, where that is no mere word.
func CallsPod(text, name string) bool {
	return strings.ContainsAny(name, "-0123456789") && strings.Contains(text, name) &&
		regexp.MustCompile(before+regexp.QuoteMeta(name)+`(?:[^\w-]|$)`).MatchString(sentBy.ReplaceAllString(text, " "))
}

// HasAddress reports whether words have the address of a pod that runs, other than as that of a client.
func HasAddress(text string, p *v1.Pod) bool {
	ended := p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
	if p.Spec.HostNetwork || ended || p.Status.PodIP == "" || !strings.Contains(text, p.Status.PodIP) {
		return false
	}
	address := regexp.MustCompile(`(?:^|[^\w.:])` + regexp.QuoteMeta(p.Status.PodIP) + `(?::\d{2,5}\b|[^\w.:]|[.:]?(?:\s|$))`)
	return address.MatchString(sentBy.ReplaceAllString(text, " "))
}

// common are words that many errors have, and that are names of workloads, too.
var common = []string{
	"database", "server", "client", "queue", "worker", "service", "backend", "frontend", "cache", "proxy", "broker", "store", "storage", "data", "redis", "postgres", "postgresql", "mysql", "mariadb",
	"mongo", "mongodb", "kafka", "rabbitmq", "nginx", "gateway", "test", "main", "default", "error", "failed", "user", "users", "order", "orders", "request", "session", "sessions", "host", "health",
	"config", "settings", "auth", "login", "search", "mail", "email", "file", "files", "jobs", "task", "tasks", "token", "tokens", "application", "container", "connection", "stock", "cart", "account", "payment", "payments",
}

// CalledLike is what people call a pod: as what stands for it, or by its own name.
func CalledLike(p *v1.Pod) string {
	if _, name, ok := strings.Cut(kubectl.Workload(p), "/"); ok {
		return name
	}
	return p.Name
}

// failing is what a health check says of a member that fails.
const failing = `(?i:down|unhealthy|error|fail(?:ed|ing|ure)?|ko|not[ _]ok|out_of_service|unavailable|unreachable|disconnected|time(?:d )?out)\b`

// MemberFails says whether words are a health check's, of which a member of that name fails.
func MemberFails(text, name string) bool {
	return regexp.MustCompile(`(?:^|[\s(,;"])` + regexp.QuoteMeta(name) + `(?:\.\w+)*: "?` + failing).MatchString(text)
}

// Holds says whether words name who holds a lock that they wait for.
func Holds(text, name string) bool {
	name = regexp.QuoteMeta(name)
	return regexp.MustCompile(`(?i:\b(?:held|locked|owned|taken|acquired|claimed|leased) by (?:\w+ )?|\b(?:lock[ _]?|lease[ _]?)?(?:holder|owner)(?:_?identity)?\\*"?[:=] ?\\*|\blocked_?by\\*"?[:=] ?\\*)["']?` + name + `(?:[^\w.-]|[.]?$)`).MatchString(text)
}

// HasWord says whether words have a name among them that is no common word, as one has names:
// of what is said after a colon, or in quotes, or of a health check's member that fails. Any word may be
// somebody's name, as in plain text.
func HasWord(text, name string) bool {
	if len(name) < 4 || !strings.Contains(text, name) {
		return false
	}
	if MemberFails(text, name) || Holds(text, name) {
		return true
	}
	if slices.Contains(common, name) {
		return false
	}
	quoted := regexp.QuoteMeta(name)
	text = regexp.MustCompile(`(?i)\b(?:from|by) `+quoted+`\b`).ReplaceAllString(sentBy.ReplaceAllString(text, " "), " ") // who asked it
	return regexp.MustCompile(`(?:^|[\s(,;])` + quoted + `:(?:\s|$)|"` + quoted + `"|'` + quoted + `'`).MatchString(text)
}

// HasContainer says whether a pod has a container of that name.
func HasContainer(p *v1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// NamedInError words that an error has the name of what stands for a pod among its words.
func NamedInError(p *v1.Pod, name, text string) string {
	return fmt.Sprintf("its error names %s, as %s/%s is called (%s)", name, p.Namespace, p.Name, strings.TrimSuffix(prose.Midst(text, 100), "."))
}

// Mentions says whether words have a name among them, also as a part of the name of an error.
func Mentions(text, name string) bool {
	return len(name) > 2 && regexp.MustCompile(`(?i)(?:^|[^a-z0-9-])`+regexp.QuoteMeta(name)+`(?:[^a-z0-9-]|$)`).MatchString(text)
}

// Waiting are the commands of a pod's init containers that have not ended.
func Waiting(pod *v1.Pod) []string {
	var all []string
	for _, c := range pod.Spec.InitContainers {
		done := slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s v1.ContainerStatus) bool {
			return s.Name == c.Name && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		})
		if !done {
			all = append(all, strings.Join(append(slices.Clone(c.Command), c.Args...), " "))
		}
	}
	return all
}

// AsksForPods words that the API server asks somebody whether it may make a pod.
func AsksForPods(there answer.Hop, refused string) string {
	_, space, name := there.Place()
	return fmt.Sprintf("the API server asks %s/%s before it makes a pod (%s)", space, name, strings.TrimSuffix(refused, "."))
}

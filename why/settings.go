package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// heap is how large a container's spec lets the heap of its runtime grow.
type heap struct {
	flag  string // as it stands there
	where string
	bytes int64
}

// heapFlags are those of the JVM, whose size may have a unit, and of Node.js, in MiB.
var heapFlags = regexp.MustCompile(`(?:-Xmx|-XX:MaxHeapSize=)(\d{1,12})([kKmMgGtT]?)(?:\s|$)|--max[-_]old[-_]space[-_]size=(\d{1,12})(?:\s|$)`)

// heapOf reads the flags in a container's command line and in the values of its variables:
// of several the last counts, as to the runtimes themselves.
func heapOf(c *v1.Container) (found heap, ok bool) {
	read := func(where, text string) {
		for _, m := range heapFlags.FindAllStringSubmatch(text, -1) {
			n, err := strconv.ParseInt(cmp.Or(m[1], m[3]), 10, 64)
			if err != nil {
				continue
			}
			power := prose.Whether(m[3] != "", 2, strings.Index(" kmgt", strings.ToLower(m[2])))
			found, ok = heap{strings.TrimSpace(m[0]), where, n << (10 * power)}, n>>(62-10*power) == 0
		}
	}
	for _, e := range c.Env {
		read("variable "+e.Name, e.Value)
	}
	read("command", strings.Join(slices.Concat(c.Command, c.Args), " "))
	return found, ok
}

// roomier is the setting in a container's arguments and variables that allows most memory, where that is more
// than a limit leaves beside all else, and how much; 0 where none does.
func roomier(c *v1.Container, limit int64) (most setting, allows int64) {
	if limit == 0 {
		return setting{}, 0
	}
	for _, s := range settingsOf(c) {
		n, ok := words.SizeSetting(s.name, s.value)
		if ok && n > allows && float64(n) > besideHeap*float64(limit) {
			most, allows = s, n
		}
	}
	return most, allows
}

func (g heap) String() string { return g.flag + " in its " + g.where }

// besideHeap is the share of a memory limit that a heap may have: threads, code, buffers
// and the kernel's page tables need the rest.
const besideHeap = 0.75

// heapWords say how the heap that a container may fill goes with a memory limit; empty
// where its spec does not say, or it leaves enough for the rest.
func heapWords(c *v1.Container, limit int64) string {
	g, ok := heapOf(c)
	switch {
	case !ok || limit == 0 || float64(g.bytes) <= besideHeap*float64(limit):
		return ""
	case g.bytes == limit:
		return fmt.Sprintf("Its heap may grow to %s (%s), which is all of that limit and leaves nothing for all else.", prose.Size(g.bytes), g)
	case g.bytes > limit:
		return fmt.Sprintf("Its heap may grow to %s (%s), and so beyond that limit.", prose.Size(g.bytes), g)
	}
	return fmt.Sprintf("Its heap may grow to %s (%s), which leaves %s of that limit for all else.", prose.Size(g.bytes), g, prose.Size(limit-g.bytes))
}

// proxyOf is the proxy through which a container's variables have clients ask, and the
// variable that says so, without what it logs in with.
func proxyOf(c *v1.Container) (variable, address string) {
	for _, e := range c.Env {
		switch strings.ToLower(e.Name) {
		case "http_proxy", "https_proxy", "all_proxy":
			_, host, ok := strings.Cut(e.Value, "://")
			if !ok {
				host = e.Value
			}
			host = host[strings.LastIndexByte(host, '@')+1:]
			if host, _, _ = strings.Cut(host, "/"); host != "" {
				return e.Name, host
			}
		}
	}
	return "", ""
}

// askedFor is [dependency] for a line of a container's log. If a proxy refused the tunnel, the proxy is the dependency.
func (h *inquiry) askedFor(container, line string) (n needed, ok bool) {
	if at, refuses := h.refusingProxy(container, line); refuses {
		return needed{place: at, what: proxyRefuses, said: line}, true
	}
	return dependency(line)
}

// refusingProxy returns the proxy that refused a tunnel according to a log line; at is "" if its address is unknown.
func (h *inquiry) refusingProxy(container, line string) (at string, ok bool) {
	if !knowledge.ProxyRefuses.In(line) || h.Spec(container) == nil {
		return "", false
	}
	variable, address := proxyOf(h.Spec(container))
	return prose.Whether(address == fact.NotKept, "", address), variable != ""
}

// throughProxy says whose word a refusal may be, where it came to a client that asks through
// a proxy.
func (h *inquiry) throughProxy(f *finding, container, said string) {
	variable, address := proxyOf(h.spec(container))
	if variable == "" || !knowledge.TurnedAway.In(said) {
		return
	}
	by := "a proxy (" + variable + " in its env)"
	if address != fact.NotKept {
		by = fmt.Sprintf("the proxy %s (%s in its env)", prose.Brief(address, 80), variable)
	}
	if knowledge.ProxyRefuses.In(said) {
		f.because = append(f.because, fmt.Sprintf("Its requests go through %s.", by))
	} else {
		f.because = append(f.because, fmt.Sprintf("Its requests go through %s, so the refusal may come from the proxy.", by))
	}
	f.first(h.specFix("have NO_PROXY and no_proxy name what it is to ask directly (.svc, .cluster.local and the names of Services), or allow the request at the proxy").About("NO_PROXY"))
}

// inMemory names the volumes of a container that lie in memory, with their mounts.
func (h *inquiry) inMemory(container string) []string {
	var all []string
	for m, v := range h.mounted(container) {
		if v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory {
			all = append(all, fmt.Sprintf("%s (at %s)", v.Name, m.MountPath))
		}
	}
	return all
}

// modeFix is what can be done about a file that may not be executed: it comes from a volume
// that gives its files a mode, or from the image.
func (h *inquiry) modeFix(container, file string) (answer.Fix, bool) {
	if h.Spec(container) == nil || h.Object == nil || !path.IsAbs(file) {
		return answer.Fix{}, false
	}
	switch _, v := h.volumeOf(container, file); {
	case v == nil:
		return h.specFix(fmt.Sprintf("make %s executable in the image (chmod +x)", file)), true
	case v.ConfigMap == nil && v.Secret == nil && v.Projected == nil:
		return h.specFix(fmt.Sprintf("make %s executable in volume %s (chmod +x), or start it by its interpreter", file, v.Name)), true
	default:
		return h.specFix(fmt.Sprintf("set defaultMode: 0755 in volume %s, whose files are not executable without, or start %s by its interpreter", v.Name, file)), true
	}
}

// asScript fits the flag with which a shell takes a script as an argument, takesSignals a script
// that puts the program in the shell's place, or takes signals itself.
var (
	asScript     = regexp.MustCompile(`^-\w*c(\s|$)`)
	takesSignals = regexp.MustCompile(`(^|[;&|\s])(exec|trap)\s`)
)

// mainCommand is the name of a run's main process, as the kernel told of its end; "" where
// it did not.
func (e ending) mainCommand() string {
	for _, f := range e.run.Ended {
		if b := fact.Of[fact.ProcessEnded](f); b.Main {
			return b.Command
		}
	}
	return ""
}

// shellInFront says whether a container's command is a script for a shell, which may wait
// for the program that it starts, so that the program hears nothing of a stop signal.
func shellInFront(c *v1.Container) bool {
	if len(c.Command) == 0 || !slices.Contains(shells, path.Base(c.Command[0])) {
		return false
	}
	script := strings.Join(append(slices.Clone(c.Command[1:]), c.Args...), " ")
	return asScript.MatchString(script) && !takesSignals.MatchString(script)
}

package suggest

import (
	"cmp"
	"fmt"
	"strings"

	"whylet.dev/whylet/why/prose"
)

// Text writes the proposals for people.
func (r *Result) Text() string {
	var w strings.Builder
	fmt.Fprintf(&w, "pod %s/%s · what its history proposes\n", r.Subject.Namespace, r.Subject.Name)
	for _, g := range r.Suggestions {
		fmt.Fprintf(&w, "\n  %s: %s  %s\n", g.Container, g.Field, g.proposal())
		for _, line := range prose.Wrap(g.Why, 92) {
			fmt.Fprintf(&w, "      %s\n", line)
		}
	}
	if len(r.Suggestions) == 0 {
		w.WriteString("\n  It has no probes and no memory limit that anything is known about.\n")
	}
	var ask []string
	for _, g := range r.Suggestions {
		if g.Value != "" && !g.Keep && !strings.HasPrefix(g.Now, "no") {
			ask = append(ask, fmt.Sprintf("%s:%s=%s", g.Container, g.Field, g.Value))
		}
	}
	if len(ask) > 0 {
		space := ""
		if r.Subject.Namespace != "" && r.Subject.Namespace != "default" {
			space = "-n " + r.Subject.Namespace + " "
		}
		fmt.Fprintf(&w, "\n  see what that would have changed:\n    kubectl why %spod/%s --what-if %s\n", space, r.Subject.Name, strings.Join(ask, ","))
	}
	return w.String()
}

func (g Suggestion) proposal() string {
	now, trust := cmp.Or(g.Now, "not set"), ""
	if g.TooFew {
		trust = " (too little is known to rely on it)"
	}
	switch {
	case g.Value == "":
		return "nothing to propose; it is " + now
	case g.Keep:
		return "keep " + g.Value + trust
	}
	return fmt.Sprintf("%s instead of %s%s", g.Value, now, trust)
}

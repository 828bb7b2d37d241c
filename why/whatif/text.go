package whatif

import (
	"fmt"
	"strings"
	"time"

	"whylet.dev/whylet/why/prose"
)

// shown is how many restarts fit beside the rest on one screen.
const shown = 8

// Text writes the result for people. zone is theirs; nil: UTC.
func (r *Result) Text(zone *time.Location) string {
	var w strings.Builder
	var words []string
	for _, c := range r.Changes {
		words = append(words, fmt.Sprintf("%s of container %s = %s instead of %s", c.Field, c.Container, c.To, c.From))
	}
	fmt.Fprintf(&w, "pod %s/%s · what if %s\n", r.Subject.Namespace, r.Subject.Name, strings.Join(words, ", and "))
	fmt.Fprintf(&w, "  %s\n  %s\n", r.summary(), r.service())
	if len(r.Restarts) > 0 {
		w.WriteString("\n")
	}
	groups := alike(r.Restarts)
	for i, g := range groups {
		if i < len(groups)-shown {
			if i == 0 {
				fmt.Fprintf(&w, "  (%d earlier; -o json shows all)\n", len(groups)-shown)
			}
			continue
		}
		at := g.first.At
		if zone != nil {
			at = at.In(zone)
		}
		name := fmt.Sprintf("%s#%d", g.first.Container, g.first.Attempt)
		if g.last != g.first.Attempt {
			name += fmt.Sprintf(" to #%d", g.last)
		}
		lines := prose.Wrap(fmt.Sprintf("%s: %s", outcomeWords[g.first.Outcome], g.first.Text), 84)
		fmt.Fprintf(&w, "  %s  %s\n", at.Format("15:04:05.000"), name)
		for _, line := range lines {
			fmt.Fprintf(&w, "                %s\n", line)
		}
	}
	for i, n := range r.NotKnown {
		title := map[bool]string{true: "not known"}[i == 0]
		if i == 0 {
			w.WriteString("\n")
		}
		for _, line := range prose.Wrap(n, 84) {
			fmt.Fprintf(&w, "  %-14s%s\n", title, line)
			title = ""
		}
	}
	if !r.Journal.Complete {
		fmt.Fprintf(&w, "\n  The journal does not hold the pod's beginning; what is said begins at %s.\n", r.Journal.From.Format(time.DateTime))
	}
	return w.String()
}

// group are restarts in a row with one outcome, for one reason.
type group struct {
	first Restart
	last  int32 // attempt
}

func alike(all []Restart) []group {
	var groups []group
	for _, r := range all {
		if n := len(groups) - 1; n >= 0 && groups[n].first.Container == r.Container && groups[n].first.Outcome == r.Outcome && groups[n].first.Text == r.Text {
			groups[n].last = r.Attempt
			continue
		}
		groups = append(groups, group{r, r.Attempt})
	}
	return groups
}

var outcomeWords = map[Outcome]string{
	Avoided: "would not have been", Remains: "would have been all the same", NotKnown: "not known", Added: "would have been added",
}

// summary is the result in one sentence.
func (r *Result) summary() string {
	count := map[Outcome]int{}
	for _, s := range r.Restarts {
		count[s.Outcome]++
	}
	was := len(r.Restarts) - count[Added]
	var parts []string
	for _, o := range []Outcome{Avoided, Remains, NotKnown} {
		if words := outcomeWords[o]; count[o] > 0 {
			if o == NotKnown {
				words = "cannot be known"
			}
			parts = append(parts, fmt.Sprintf("%d %s", count[o], words))
		}
	}
	text := "No restart was about these settings, and none would have been."
	if was > 0 {
		text = fmt.Sprintf("Of %s: %s.", prose.Plural(was, "restart"), strings.Join(parts, ", "))
	}
	if n := count[Added]; n > 0 {
		text += fmt.Sprintf(" %s would have been added.", prose.Plural(n, "restart"))
	}
	return text
}

// service says how long it was out of service, and would have been.
func (r *Result) service() string {
	s := r.OutOfService
	was, least, most := seconds(s.Was), seconds(s.AtLeast), seconds(s.AtMost)
	switch {
	case was == 0 && most == 0:
		return "It was never out of service because of them after it first had been ready."
	case span(least) == span(most):
		return fmt.Sprintf("It was out of service for %s; it would have been for %s.", span(was), span(least))
	}
	return fmt.Sprintf("It was out of service for %s; it would have been for %s at least, and for %s at most.", span(was), span(least), span(most))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// span words a duration, in parts of a second and in hours at most.
func span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < time.Second:
		return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0 s", " s", 1)
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return prose.Span(d)
}

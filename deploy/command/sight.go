package command

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// sight is one thing that an agent sees of its node, or does not.
type sight struct {
	name string
	seen bool
	// what was found, or why not and what that costs.
	what string
}

// sightLine is what the agent logs of each as it starts (log/slog's TextHandler).
var sightLine = regexp.MustCompile(`msg=sight name=("(?:[^"\\]|\\.)*"|\S+) seen=(true|false) what=("(?:[^"\\]|\\.)*"|\S+)`)

// readSights reads the beginning of an agent's log; none where it does not say.
func readSights(log io.Reader) ([]sight, error) {
	var all []sight
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := sightLine.FindStringSubmatch(lines.Text()); m != nil {
			all = append(all, sight{name: plain(m[1]), seen: m[2] == "true", what: plain(m[3])})
		}
	}
	return all, lines.Err()
}

func plain(s string) string {
	if p, err := strconv.Unquote(s); err == nil {
		return p
	}
	return s
}

// depths are what agents see beside the API server, with the sight that shows it.
var depths = [][2]string{{"container runtime", "the container runtime"}, {"wait statuses", "the kernel"}, {"probe attempts", "every probe attempt"}}

// sees sums up what an agent sees beside the API server, and what it does not.
func sees(all []sight) string {
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.name] = s.seen
	}
	var yes, no []string
	for _, d := range depths {
		if seen[d[0]] {
			yes = append(yes, d[1])
		} else {
			no = append(no, d[1])
		}
	}
	switch {
	case len(no) == 0:
		return "agents see " + strings.Join(yes, ", ")
	case len(yes) == 0:
		return "agents see the API server alone, not " + strings.Join(no, ", ")
	}
	return "agents see " + strings.Join(yes, ", ") + ", not " + strings.Join(no, ", ")
}

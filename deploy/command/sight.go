package command

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
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

// level is how much of it all an agent sees: 0 what the API server shows, 1 also the
// container runtime, 2 also the kernel, 3 also each attempt of kubelet's probes.
func level(all []sight) int {
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.name] = s.seen
	}
	for i, needed := range []string{"container runtime", "wait statuses", "probe attempts"} {
		if !seen[needed] {
			return i
		}
	}
	return 3
}

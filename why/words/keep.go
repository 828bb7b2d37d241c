package words

import (
	"slices"
	"strings"
)

// firsts is how many lines are kept for what they say, before what was said last.
const firsts = 4

// mostStacks is of how many of them the place in the application's code is kept: of what says most,
// and of what is gravest.
const mostStacks = 2

// mostBetween is how many reasons are kept of those between an error and the last one of it.
const mostBetween = 2

// between are the reasons right before the one that says most, with nothing but frames of a
// stack in between: what a runtime calls the last of them may be what a person knows least of.
func between(lines []string, order []int) (all []int) {
	if len(order) == 0 {
		return nil
	}
	for i := order[0] - 1; i > 0 && len(all) < mostBetween; i-- {
		switch trimmed := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(trimmed, "Caused by: "):
			all = append(all, i)
		case !Frame(lines[i-1], lines[i]):
			return all
		}
	}
	return all
}

// Keep chooses those of the last lines of a log that are worth keeping, in their order, and
// says which they were: at most so many, and so many bytes together. What says most comes
// first, then the first errors, where in its own code that was, then what was said last; the other
// frames of a stack give way to all of them.
func Keep(lines []string, most, bytes int) (kept []string, which []int) {
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = uncoloured(line)
		if len(line) > bytes/2 {
			lines[i] = shortened(lines[i])
		}
	}
	grave := gravities(lines)
	var order, frames []int
	if i := telling(lines, grave); i >= 0 {
		order = append(order, i)
	}
	if i := newestOfGravest(lines, grave, warning); i >= 0 {
		order = append(order, i)
	}
	for i := range lines { // what failed first is often why the rest did
		said := func(other int) bool { return Alike(lines[other], lines[i]) }
		if grave[i] >= trouble && len(order) < firsts && !slices.ContainsFunc(order, said) {
			order = append(order, i)
		}
	}
	order = append(order, between(lines, order)...)
	for i := 1; len(order) > 0 && i < mostReasons; i++ { // the rest of its message
		if j := order[0] + i; j >= len(lines) || grave[j] < plain || !continues(lines, grave, j, order[0]) {
			break
		}
		order = append(order, order[0]+i)
	}
	for _, i := range slices.Clone(order[:min(len(order), mostStacks)]) { // where that was
		if at := ownFrame(lines, whole(lines, grave, origin(lines, grave, i))); at >= 0 {
			order = append(order, at)
			if at > 0 && goCall.MatchString(lines[at-1]) {
				order = append(order, at-1)
			}
		}
	}
	for i, line := range slices.Backward(lines) {
		switch before := lines[max(0, i-1)]; {
		case strings.TrimSpace(line) == "":
		case i > 0 && Frame(before, line) || i == 0 && Frame("", line):
			frames = append(frames, i)
		default:
			order = append(order, i)
		}
	}
	chosen := map[int]string{}
	for _, i := range append(order, frames...) {
		line := lines[i]
		if _, have := chosen[i]; have {
			continue
		}
		if len(chosen) == 0 && len(line) > bytes {
			line = strings.ToValidUTF8(line[:bytes], "")
		}
		if len(chosen) == most || len(line) > bytes {
			break
		}
		chosen[i], bytes = line, bytes-len(line)
	}
	for i := range lines {
		if line, ok := chosen[i]; ok {
			kept, which = append(kept, line), append(which, i)
		}
	}
	return kept, which
}

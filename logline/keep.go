package logline

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
func (s *Story) between(order []int) (all []int) {
	if len(order) == 0 {
		return nil
	}
	for i := order[0] - 1; i > 0 && len(all) < mostBetween; i-- {
		switch l := &s.lines[i]; {
		case strings.HasPrefix(l.trimmed, "Caused by: "):
			all = append(all, i)
		case !l.frame:
			return all
		}
	}
	return all
}

// Keep chooses those of the last lines of a log that are worth keeping, in their order, and
// says which they were: at most so many, and so many bytes together. What says most comes
// first, then the first errors, where in its own code that was, then what was said last; the other
// frames of a stack give way to all of them.
func Keep(lines []string, most, bytes int, hints Hints) (kept []string, which []int) {
	lines = slices.Clone(lines)
	for i, text := range lines {
		lines[i] = uncoloured(text)
		if len(text) > bytes/2 {
			lines[i] = shortened(lines[i])
		}
	}
	chosen := map[int]string{}
	for _, i := range Parse(lines, hints).byWorth() {
		text := lines[i]
		if _, have := chosen[i]; have {
			continue
		}
		if len(chosen) == 0 && len(text) > bytes {
			text = strings.ToValidUTF8(text[:bytes], "")
		}
		if len(chosen) == most || len(text) > bytes {
			break
		}
		chosen[i], bytes = text, bytes-len(text)
	}
	for i := range lines {
		if text, ok := chosen[i]; ok {
			kept, which = append(kept, text), append(which, i)
		}
	}
	return kept, which
}

// byWorth are the lines of a log, what is most worth keeping first; some are named twice.
func (s *Story) byWorth() []int {
	order := s.telling()
	order = append(order, s.between(order)...)
	for i := 1; len(order) > 0 && i < mostReasons; i++ { // the rest of its message
		if j := order[0] + i; j >= len(s.lines) || s.lines[j].severity < Plain || !s.continues(j, order[0]) {
			break
		}
		order = append(order, order[0]+i)
	}
	for _, i := range slices.Clone(order[:min(len(order), mostStacks)]) { // where that was
		if at := s.ownFrame(s.whole(s.origin(i))); at >= 0 {
			order = append(order, at)
			if at > 0 && goCall.MatchString(s.lines[at-1].text) {
				order = append(order, at-1)
			}
		}
	}
	var frames []int
	for i, l := range slices.Backward(s.lines) {
		switch {
		case l.trimmed == "":
		case l.frame, i == 0 && l.raw.Fits(frame):
			frames = append(frames, i)
		default:
			order = append(order, i)
		}
	}
	return append(order, frames...)
}

// telling are the line that says most, the most severe, and those that failed first, which is often why the rest did.
func (s *Story) telling() (order []int) {
	if i := s.Primary(); i >= 0 {
		order = append(order, i)
	}
	if i := s.newestOfGravest(Warning); i >= 0 {
		order = append(order, i)
	}
	for i := range s.lines {
		if len(order) >= firsts {
			break
		}
		said := func(other int) bool { return Alike(s.lines[other].text, s.lines[i].text) }
		if s.lines[i].severity >= Error && !slices.ContainsFunc(order, said) {
			order = append(order, i)
		}
	}
	return order
}

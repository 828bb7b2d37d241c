package why

import (
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/words"
)

// Reread gives facts whose ends have the last lines that are chosen today of the log that was kept: who kept them may
// have chosen others. The facts themselves are not changed; those of journals without such a log are as they were.
func Reread(facts []fact.Fact) []fact.Fact {
	copied := false
	for i, f := range facts {
		b, ok := f.Body.(fact.Exited)
		if !ok || b.LogEnd == nil {
			continue
		}
		if !copied {
			facts, copied = slices.Clone(facts), true
		}
		facts[i].Body = reread(b, f.When())
	}
	return facts
}

// reread chooses the last lines of an end anew. Lines that were chosen before from an earlier part of the log stand
// before those of its end.
func reread(b fact.Exited, ended time.Time) fact.Exited {
	end := b.LogEnd
	b.LogEnd = nil
	if len(end.Lines) == 0 {
		return b
	}
	lines, at := end.Lines, end.At
	if !end.All {
		lines, at = chosenBefore(b, end)
	}
	kept, which := words.Keep(lines, fact.MostLastLines, fact.MostLastBytes)
	var times []time.Time
	for _, n := range which {
		if at != nil {
			times = append(times, at[n])
		}
	}
	b.Say(kept, times, ended)
	return b
}

// chosenBefore puts before the end of a log what was chosen from before it. Where an end has no times for those, all were
// said at its last.
func chosenBefore(b fact.Exited, end *fact.LogEnd) (lines []string, at []time.Time) {
	var said []string // as they would be chosen: a line that is coloured or long stands otherwise among those
	for _, line := range end.Lines {
		kept, _ := words.Keep([]string{line}, 1, fact.MostLastBytes)
		said = append(said, kept...)
	}
	for i, line := range b.LastLines {
		if slices.Contains(said, line) {
			continue
		}
		lines = append(lines, line)
		switch {
		case len(end.At) == 0:
		case len(b.LastLinesAt) == len(b.LastLines):
			at = append(at, b.LastLinesAt[i])
		default:
			at = append(at, end.At[0])
		}
	}
	lines, at = append(lines, end.Lines...), append(at, end.At...)
	if len(at) != len(lines) {
		at = nil
	}
	return lines, at
}

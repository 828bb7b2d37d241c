package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
)

// tally counts answers.
type tally struct {
	n      int
	grades map[scenarios.Grade]int
	score  float64
}

func (t *tally) add(g scenarios.Grade) {
	if t.grades == nil {
		t.grades = map[scenarios.Grade]int{}
	}
	t.n++
	t.grades[g]++
	t.score += g.Score()
}

// row is a line of a Markdown table.
func (t *tally) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %.0f %% |\n", name, t.n, t.grades[scenarios.Right],
		t.grades[scenarios.Beside]+t.grades[scenarios.Part], t.grades[scenarios.Unknown], t.grades[scenarios.Wrong], 100*t.score/float64(max(1, t.n)))
}

const head = "| %s | answers | right | partly | unknown | wrong | score |\n|---|--:|--:|--:|--:|--:|--:|\n"

// report is what came of all questions.
type report struct {
	scenarios, played int
	all               tally
	situations        map[string]*tally
	causes            map[string]*tally
	took, until       []time.Duration
	misses            map[string]int
}

func newReport(results []scenarios.Result) report {
	r := report{situations: map[string]*tally{}, causes: map[string]*tally{}, misses: map[string]int{}}
	names := map[string]bool{}
	for _, one := range results {
		names[one.Scenario.Name] = true
		if one.Situation == scenarios.Live {
			r.played++
		}
		r.all.add(one.Grade)
		entry(r.situations, string(one.Situation)).add(one.Grade)
		entry(r.causes, "`"+string(one.Scenario.Want.Cause)+"`").add(one.Grade)
		if one.Took > 0 {
			r.took = append(r.took, one.Took)
		}
		if one.Situation == scenarios.Live && (one.Grade == scenarios.Right || one.Grade == scenarios.Beside) {
			r.until = append(r.until, one.Until)
		}
		if one.Grade != scenarios.Right {
			r.misses[fmt.Sprintf("%s: %s: %s", one.Grade, one.Scenario.Name, brief(one.Err))]++
		}
	}
	r.scenarios = len(names)
	slices.Sort(r.took)
	slices.Sort(r.until)
	return r
}

func entry(all map[string]*tally, name string) *tally {
	if all[name] == nil {
		all[name] = &tally{}
	}
	return all[name]
}

func brief(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), 160)]
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// text is the report for a person at a terminal.
func (r report) text() string {
	var b strings.Builder
	b.WriteString(r.markdown())
	b.WriteString("\nNot right:\n")
	for _, line := range slices.Sorted(maps.Keys(r.misses)) {
		fmt.Fprintf(&b, "  %d× %s\n", r.misses[line], line)
	}
	return b.String()
}

// markdown is the part that a page keeps.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scenarios, played %d times, %d questions: **score %.0f %%**, %d wrong, %d unknown. ", r.scenarios, r.played, r.all.n,
		100*r.all.score/float64(max(1, r.all.n)), r.all.grades[scenarios.Wrong], r.all.grades[scenarios.Unknown])
	fmt.Fprintf(&b, "An answer took %s in the median and %s at the 95th percentile, with up to three asked at once on a busy two-core machine; from the first manifest to the right answer it took %s and %s.\n\n",
		quantile(r.took, 0.5).Round(10*time.Millisecond), quantile(r.took, 0.95).Round(10*time.Millisecond), quantile(r.until, 0.5).Round(time.Second), quantile(r.until, 0.95).Round(time.Second))
	fmt.Fprintf(&b, head, "asked")
	for _, s := range scenarios.Situations {
		if t := r.situations[string(s)]; t != nil {
			b.WriteString(t.row(string(s)))
		}
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, head, "cause")
	// The weakest first: that is where work is left.
	names := slices.Sorted(maps.Keys(r.causes))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(r.causes[a].score/float64(r.causes[a].n), r.causes[b].score/float64(r.causes[b].n))
	})
	for _, name := range names {
		b.WriteString(r.causes[name].row(name))
	}
	return b.String()
}

const (
	begin = "<!-- bench-why: begin -->\n"
	end   = "<!-- bench-why: end -->\n"
)

// writeInto replaces what stands between the markers of a page.
func (r report) writeInto(file string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return errors.New(file + " has no markers for the table")
	}
	text := string(before) + begin + r.markdown() + end + string(after)
	return os.WriteFile(file, []byte(text), 0o644)
}

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

// row is the beginning of a line of a Markdown table.
func (t *tally) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %.0f %% |", name, t.n, t.grades[scenarios.Right],
		t.grades[scenarios.Beside]+t.grades[scenarios.Part], t.grades[scenarios.Unknown], t.grades[scenarios.Wrong], 100*t.score/float64(max(1, t.n)))
}

const (
	head = "| %s | answers | right | partly | unknown | wrong | score |"
	rule = "|---|--:|--:|--:|--:|--:|--:|"
)

// miss is an answer that was not right, in words.
type miss struct {
	scenario string
	grade    scenarios.Grade
	why      string
}

// times are how long answers took, sorted.
type times []time.Duration

func (t times) quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[int(q*float64(len(t)-1))].Round(10 * time.Millisecond)
}

// report is what came of all questions.
type report struct {
	scenarios, played int
	all               tally
	situations        map[string]*tally
	causes            map[string]*tally
	// took is by situation, and that of all under the empty one.
	took  map[scenarios.Situation]times
	until times
	// misses counts by situation.
	misses map[miss]map[scenarios.Situation]int
	// where says when and on what machine, and how busy it was.
	where string
}

func newReport(records []record) report {
	r := report{
		situations: map[string]*tally{}, causes: map[string]*tally{}, where: where(records),
		took: map[scenarios.Situation]times{}, misses: map[miss]map[scenarios.Situation]int{},
	}
	names := map[string]bool{}
	for _, one := range records {
		names[one.Scenario] = true
		if one.Situation == scenarios.Live {
			r.played++
		}
		r.all.add(one.Grade)
		entry(r.situations, string(one.Situation)).add(one.Grade)
		entry(r.causes, "`"+string(one.Cause)+"`").add(one.Grade)
		if one.Took > 0 {
			r.took[""] = append(r.took[""], one.Took)
			r.took[one.Situation] = append(r.took[one.Situation], one.Took)
		}
		if one.Situation == scenarios.Live && (one.Grade == scenarios.Right || one.Grade == scenarios.Beside) {
			r.until = append(r.until, one.Until)
		}
		if one.Grade != scenarios.Right {
			m := miss{one.Scenario, one.Grade, one.Why}
			if r.misses[m] == nil {
				r.misses[m] = map[scenarios.Situation]int{}
			}
			r.misses[m][one.Situation]++
		}
	}
	r.scenarios = len(names)
	for _, t := range r.took {
		slices.Sort(t)
	}
	slices.Sort(r.until)
	return r
}

func entry(all map[string]*tally, name string) *tally {
	if all[name] == nil {
		all[name] = &tally{}
	}
	return all[name]
}

// where words when and on what machine the answers were given, and how busy it was.
func where(records []record) string {
	if len(records) == 0 {
		return "nowhere yet"
	}
	// span words the least and the greatest of a number or a day.
	span := func(of func(record) string, less func(a, b record) int) string {
		from, to := of(slices.MinFunc(records, less)), of(slices.MaxFunc(records, less))
		if from == to {
			return from
		}
		return from + " to " + to
	}
	machines := map[string]bool{}
	for _, r := range records {
		machines[r.Machine] = true
	}
	return fmt.Sprintf("%s, %s, %s side by side at a load of %s",
		span(func(r record) string { return r.At.Format(time.DateOnly) }, func(a, b record) int { return a.At.Compare(b.At) }),
		strings.Join(slices.Sorted(maps.Keys(machines)), " and "),
		span(func(r record) string { return fmt.Sprint(r.Width) }, func(a, b record) int { return cmp.Compare(a.Width, b.Width) }),
		span(func(r record) string { return fmt.Sprintf("%.0f", r.Load) }, func(a, b record) int { return cmp.Compare(a.Load, b.Load) }))
}

// markdown is the part that a page keeps, and what is printed.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scenarios, played %d times, %d questions: **score %.0f %%**, %d wrong, %d unknown; %s. ", r.scenarios, r.played, r.all.n,
		100*r.all.score/float64(max(1, r.all.n)), r.all.grades[scenarios.Wrong], r.all.grades[scenarios.Unknown], r.where)
	fmt.Fprintf(&b, "From the first manifest to the right answer, which includes that the trouble comes about, it took %s in the median and %s at the 95th percentile; the answer itself is in the last columns, with up to three asked at once.\n\n",
		r.until.quantile(0.5).Round(time.Second), r.until.quantile(0.95).Round(time.Second))
	fmt.Fprintf(&b, head+" time to answer, p50 | p95 |\n"+rule+"--:|--:|\n", "asked")
	line := func(name string, t *tally, took times) {
		fmt.Fprintf(&b, "%s %s | %s |\n", t.row(name), took.quantile(0.5), took.quantile(0.95))
	}
	for _, s := range scenarios.Situations {
		if t := r.situations[string(s)]; t != nil {
			line(string(s), t, r.took[s])
		}
	}
	line("all", &r.all, r.took[""])
	r.writeMisses(&b)
	fmt.Fprintf(&b, "\n"+head+"\n"+rule+"\n", "cause")
	// The weakest first: that is where work is left.
	names := slices.Sorted(maps.Keys(r.causes))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(r.causes[a].score/float64(r.causes[a].n), r.causes[b].score/float64(r.causes[b].n))
	})
	for _, name := range names {
		b.WriteString(r.causes[name].row(name) + "\n")
	}
	return b.String()
}

// writeMisses lists what was not right, the wrong answers first.
func (r report) writeMisses(b *strings.Builder) {
	if len(r.misses) == 0 {
		return
	}
	b.WriteString("\n| not right | scenario | asked | what was amiss |\n|---|---|---|---|\n")
	order := []scenarios.Grade{scenarios.Wrong, scenarios.Unknown, scenarios.Part, scenarios.Beside}
	all := slices.SortedFunc(maps.Keys(r.misses), func(a, b miss) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.grade), slices.Index(order, b.grade)), cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.why, b.why))
	})
	for _, m := range all {
		var asked []string
		for _, s := range scenarios.Situations {
			if n := r.misses[m][s]; n > 0 {
				asked = append(asked, fmt.Sprintf("%s %d×", s, n))
			}
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", m.grade, m.scenario, strings.Join(asked, ", "), strings.ReplaceAll(m.why, "|", "/"))
	}
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

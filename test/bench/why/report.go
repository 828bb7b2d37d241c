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

// share is how many of the answers have a grade, in per cent.
func (t *tally) share(g scenarios.Grade) float64 {
	return 100 * float64(t.grades[g]) / float64(max(1, t.n))
}

// percent is the score.
func (t *tally) percent() float64 { return 100 * t.score / float64(max(1, t.n)) }

// row is the beginning of a line of a Markdown table.
func (t *tally) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %.0f %% |", name, t.n, t.grades[scenarios.Right],
		t.grades[scenarios.Beside]+t.grades[scenarios.Part], t.grades[scenarios.Unknown], t.grades[scenarios.Wrong], t.percent())
}

const (
	head = "| %s | answers | right | partly | unknown | wrong | score |"
	rule = "|---|--:|--:|--:|--:|--:|--:|"
)

// asked is how a question was asked.
type asked struct {
	sight     scenarios.Sight
	situation scenarios.Situation
	busy      bool
}

// busyFrom is the load of the machine from which on it counts as busy: four times what two
// processors can do. That is what was measured, whoever made it.
const busyFrom = 8

func (r record) busy() bool { return r.Load >= busyFrom || r.Measured >= busyFrom }

func (a asked) String() string {
	text := string(a.situation)
	if a.sight != scenarios.ByNode {
		text = string(a.sight) + ", " + text
	}
	if a.busy {
		text += ", busy"
	}
	return text
}

func (a asked) compare(b asked) int {
	order := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(a.sight, b.sight), cmp.Compare(order[a.busy], order[b.busy]),
		cmp.Compare(slices.Index(scenarios.Situations, a.situation), slices.Index(scenarios.Situations, b.situation)))
}

// questions are all that were asked in one way.
type questions struct {
	tally
	asked, first, last int // how many, and of how many the first and the last answer were right
	took               times
}

func (q *questions) add(r record) {
	counted := r.counted()
	if len(counted) == 0 {
		return
	}
	q.asked++
	for _, s := range counted {
		q.tally.add(s.Grade)
		if s.Took > 0 {
			q.took = append(q.took, s.Took)
		}
	}
	// The first is the very first, of the time before the others count.
	if slices.Concat(r.Samples, counted)[0].Grade == scenarios.Right {
		q.first++
	}
	if counted[len(counted)-1].Grade == scenarios.Right {
		q.last++
	}
}

// sum adds what was asked in another way.
func (q *questions) sum(o *questions) {
	for g, n := range o.grades {
		for range n {
			q.tally.add(g)
		}
	}
	q.asked, q.first, q.last = q.asked+o.asked, q.first+o.first, q.last+o.last
	q.took = append(q.took, o.took...)
}

func (q *questions) row(name string) string {
	slices.Sort(q.took)
	return fmt.Sprintf("%s %d | %d | %d | %s | %s |", q.tally.row(name), q.asked, q.first, q.last, q.took.quantile(0.5), q.took.quantile(0.95))
}

// miss is an answer that was not right, in words.
type miss struct {
	asked
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
	all       questions
	asked     map[asked]*questions
	causes    map[string]*tally
	scenarios map[string]map[bool]*tally // by whether the machine was busy
	// misses are when, after the first symptom, such an answer was given.
	misses map[miss]times
	// steps are the answers whose steps are known to have what is to be changed, or not; untold is what they lack.
	steps  tally
	untold map[string]map[string]bool // by scenario
	// overstated counts wrong verdicts that were called recorded.
	overstated int
	// elsewhere are scenarios that cannot be played there, by why.
	elsewhere map[string][]string
	// where says when and on what machine, and how busy it was.
	where string
}

func newReport(records []record) report {
	r := report{
		asked: map[asked]*questions{}, causes: map[string]*tally{}, scenarios: map[string]map[bool]*tally{}, misses: map[miss]times{}, untold: map[string]map[string]bool{}, where: where(records),
	}
	for _, one := range records {
		how := asked{one.Sight, one.Situation, one.busy()}
		r.all.add(one)
		entry(r.asked, how).add(one)
		if r.scenarios[one.Scenario] == nil {
			r.scenarios[one.Scenario] = map[bool]*tally{}
		}
		for _, s := range one.counted() {
			entry(r.causes, one.label()).add(s.Grade)
			entry(r.scenarios[one.Scenario], one.busy()).add(s.Grade)
			if s.Grade != scenarios.Right {
				m := miss{how, one.Scenario, s.Grade, s.Why}
				r.misses[m] = append(r.misses[m], s.After)
			}
			if s.Overstated {
				r.overstated++
			}
			if len(one.Does) > 0 {
				r.addSteps(one.Scenario, s)
			}
		}
	}
	return r
}

// addSteps counts whether the steps of an answer have what a person is to change.
func (r *report) addSteps(scenario string, s scenarios.Sample) {
	if s.Untold == "" {
		r.steps.add(scenarios.Right)
		return
	}
	r.steps.add(scenarios.Part)
	if r.untold[scenario] == nil {
		r.untold[scenario] = map[string]bool{}
	}
	r.untold[scenario][s.Untold] = true
}

// writeSteps says how often the steps name what is to be changed, and what they lack.
func (r report) writeSteps(b *strings.Builder) {
	if r.steps.n == 0 {
		return
	}
	fmt.Fprintf(b, "\nThe steps name what is to be changed in **%.1f %%** of %d answers of which that is known.\n", r.steps.share(scenarios.Right), r.steps.n)
	for _, name := range slices.Sorted(maps.Keys(r.untold)) {
		fmt.Fprintf(b, "- `%s`: no %s\n", name, strings.Join(slices.Sorted(maps.Keys(r.untold[name])), ", no "))
	}
}

// label is the cause, and with whose eyes it was to be seen where that is not our node.
func (r record) label() string {
	if r.Sight == scenarios.ByNode {
		return "`" + string(r.Cause) + "`"
	}
	return "`" + string(r.Cause) + "`, " + string(r.Sight)
}

func entry[K comparable, T any](all map[K]*T, name K) *T {
	if all[name] == nil {
		all[name] = new(T)
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
	return fmt.Sprintf("%s, %s, %s side by side at a measured load of %s",
		span(func(r record) string { return r.At.Format(time.DateOnly) }, func(a, b record) int { return a.At.Compare(b.At) }),
		strings.Join(slices.Sorted(maps.Keys(machines)), " and "),
		span(func(r record) string { return fmt.Sprint(r.Width) }, func(a, b record) int { return cmp.Compare(a.Width, b.Width) }),
		span(func(r record) string { return fmt.Sprintf("%.0f", r.Measured) }, func(a, b record) int { return cmp.Compare(a.Measured, b.Measured) }))
}

// markdown is the part that a page keeps, and what is printed.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scenarios, %d questions, %d answers, each graded, from %v after the first symptom on: **%.1f %% right, %.1f %% wrong, score %.0f %%**; %d wrong verdicts were called recorded; %s. ",
		len(r.scenarios), r.all.asked, r.all.n, scenarios.Grace, r.all.share(scenarios.Right), r.all.share(scenarios.Wrong), r.all.percent(), r.overstated, r.where)
	fmt.Fprintf(&b, "Busy is a measured load of %d and more on the machine. The columns after the score say how many questions there were, and of how many the first and the last answer was right, then the time to answer.\n\n", busyFrom)
	fmt.Fprintf(&b, head+" questions | first right | last right | p50 | p95 |\n"+rule+"--:|--:|--:|--:|--:|\n", "asked")
	for _, how := range slices.SortedFunc(maps.Keys(r.asked), asked.compare) {
		b.WriteString(r.asked[how].row(how.String()) + "\n")
	}
	for _, busy := range []bool{false, true} {
		var sum questions
		for how, q := range r.asked {
			if how.busy == busy {
				sum.sum(q)
			}
		}
		if sum.n > 0 {
			b.WriteString(sum.row(map[bool]string{false: "all, calm", true: "all, busy"}[busy]) + "\n")
		}
	}
	b.WriteString(r.all.row("all") + "\n")
	r.writeScenarios(&b)
	r.writeSteps(&b)
	fmt.Fprintf(&b, "\n"+head+"\n"+rule+"\n", "cause")
	// The weakest first: that is where work is left.
	names := slices.Sorted(maps.Keys(r.causes))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.causes[a].percent(), r.causes[b].percent()) })
	for _, name := range names {
		b.WriteString(r.causes[name].row(name) + "\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.elsewhere)) {
		fmt.Fprintf(&b, "\nNot played here, as %s: %s.\n", reason, strings.Join(r.elsewhere[reason], ", "))
	}
	return b.String()
}

// writeScenarios lists the scenarios that were not right in every answer, the worst
// first, with each answer that was not and when it was given.
func (r report) writeScenarios(b *strings.Builder) {
	missed := map[string][]miss{}
	for m := range r.misses {
		missed[m.scenario] = append(missed[m.scenario], m)
	}
	if len(missed) == 0 {
		return
	}
	b.WriteString("\n| scenario | calm | busy | what was amiss, and when |\n|---|--:|--:|---|\n")
	score := func(name string) (calm, busy, all tally) {
		for wasBusy, t := range r.scenarios[name] {
			one := &calm
			if wasBusy {
				one = &busy
			}
			for _, sum := range []*tally{one, &all} {
				sum.n, sum.score = sum.n+t.n, sum.score+t.score
			}
		}
		return calm, busy, all
	}
	names := slices.SortedFunc(maps.Keys(missed), func(x, y string) int {
		_, _, a := score(x)
		_, _, b := score(y)
		return cmp.Or(cmp.Compare(a.percent(), b.percent()), cmp.Compare(x, y))
	})
	for _, name := range names {
		calm, busy, _ := score(name)
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, cell(calm), cell(busy), r.amiss(missed[name]))
	}
}

func cell(t tally) string {
	if t.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", t.percent())
}

// amiss words what was not right of a scenario, the wrong answers first.
func (r report) amiss(all []miss) string {
	order := []scenarios.Grade{scenarios.Wrong, scenarios.Unknown, scenarios.Part, scenarios.Beside}
	slices.SortFunc(all, func(a, b miss) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.grade), slices.Index(order, b.grade)), a.asked.compare(b.asked), cmp.Compare(a.why, b.why))
	})
	var words []string
	for _, m := range all {
		words = append(words, fmt.Sprintf("%s, %s (%s): %s", m.grade, m.asked, when(r.misses[m]), strings.ReplaceAll(m.why, "|", "/")))
	}
	return strings.Join(words, "; ")
}

// when words at which times: each of a few, or how many there were between two.
func when(all times) string {
	slices.Sort(all)
	if len(all) > 3 {
		return fmt.Sprintf("%d× from %v to %v", len(all), all[0].Round(time.Second), all[len(all)-1].Round(time.Second))
	}
	var words []string
	for _, t := range all {
		words = append(words, t.Round(time.Second).String())
	}
	return "after " + strings.Join(words, ", ")
}

// markers are around the part of a page that is written by this program.
func markers(block string) (begin, end string) {
	return "<!-- " + block + ": begin -->\n", "<!-- " + block + ": end -->\n"
}

// writeInto replaces what stands between a block's markers on a page.
func (r report) writeInto(file, block string) error {
	begin, end := markers(block)
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return errors.New(file + " has no markers for " + block)
	}
	text := string(before) + begin + r.markdown() + end + string(after)
	return os.WriteFile(file, []byte(text), 0o644)
}

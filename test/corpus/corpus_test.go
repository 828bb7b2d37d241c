package corpus

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
)

var (
	rewrite    = flag.Bool("rewrite", false, "keep grades that are higher than the recorded ones, and those of new cases")
	forceLower = flag.String("force-lower", "", "with -rewrite: keep lower grades, too, and say why")
	save       = flag.String("save", "", "keep the answers in this folder")
	against    = flag.String("against", "", "compare the answers with those that -save kept in this folder")
	onlyCases  = flag.String("only", "", "ask only these scenarios, separated by commas, and print the answers")
)

const (
	gradesFile  = "testdata/grades.txt"
	wrongFile   = "testdata/wrong-labels.txt"
	loweredFile = "testdata/lowered.txt"
)

// run is one over the whole corpus.
type run struct {
	t     *testing.T
	wrong map[string]string // labels, and why
	all   []asked
}

// TestCorpus asks every recorded case again, with facts and by the API alone, and fails where a
// grade is below the recorded one.
func TestCorpus(t *testing.T) {
	began := time.Now()
	r := &run{t: t, all: passOf(t).answers}
	var err error
	if r.wrong, err = ReadReasons(wrongFile); err != nil {
		t.Fatal(err)
	}
	for _, one := range r.all {
		r.keep(one)
	}
	r.judge()
	r.table()
	t.Logf("%d questions in %v", len(r.all), time.Since(began).Round(time.Second))
}

// labels are those of the scenarios' sources, which are corrected there.
func labels() (map[string]scenarios.Expected, error) {
	all := map[string]scenarios.Expected{}
	for _, dir := range []string{"../e2e/scenarios", "../e2e/scenarios/servers"} {
		found, err := scenarios.Load(dir)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			all[s.Name] = s.Want
		}
	}
	return all, nil
}

// isOnly says whether a scenario is among those that -only names.
func isOnly(name string) bool { return slices.Contains(strings.Split(*onlyCases, ","), name) }

// keep prints an answer, keeps it or compares it with one that was kept, as flags ask for.
func (r *run) keep(one asked) {
	text := one.answer.Text(answer.Style{Wide: true})
	if one.failed != nil {
		text = one.failed.Error()
	}
	r.compare(one.About, text)
	if *onlyCases != "" {
		r.t.Logf("%s, %s (live %v): %s %s\n%s", one.Scenario, one.Sight, one.live, one.Grade, one.Why, text)
	}
}

// compare keeps an answer, or compares it with one that was kept.
func (r *run) compare(about About, text string) {
	name := fmt.Sprintf("%s.%s.txt", about.Scenario, column(about.Sight))
	if *against != "" {
		before, err := os.ReadFile(filepath.Join(*against, name))
		if err != nil || string(before) != text {
			r.t.Errorf("%s, %s answers otherwise (%v)\n--- before\n%s\n--- now\n%s", about.Scenario, about.Sight, err, before, text)
		}
	}
	if *save != "" {
		err := os.MkdirAll(*save, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(*save, name), []byte(text), 0o644)
		}
		if err != nil {
			r.t.Error(err)
		}
	}
}

// judge compares the grades with the recorded ones, and records them where that is asked for.
func (r *run) judge() {
	before, err := ReadGrades(gradesFile)
	if err != nil {
		r.t.Fatal(err)
	}
	now := Grades{}
	if *onlyCases != "" {
		maps.Copy(now, before)
	}
	var lowered strings.Builder
	for _, one := range r.all {
		was, known := before[one.About]
		now[one.About] = one.Grade
		switch {
		case r.wrong[one.Scenario] != "":
		case !known && !*rewrite:
			r.t.Errorf("%s, %s has no recorded grade: -rewrite records it", one.Scenario, one.Sight)
		case !known || !Lower(one.Grade, was):
		case *rewrite && *forceLower != "":
			fmt.Fprintf(&lowered, "%s %s, %s to %s: %s\n", one.Scenario, column(one.Sight), was, one.Grade, *forceLower)
		default:
			now[one.About] = was
			r.t.Errorf("%s, %s is %s and was %s: %s", one.Scenario, one.Sight, one.Grade, was, one.Why)
		}
	}
	for about := range before {
		if _, there := now[about]; !there && !*rewrite {
			r.t.Errorf("%s, %s was recorded, and is in no archive", about.Scenario, about.Sight)
		}
	}
	if *rewrite {
		if err := cmp.Or(now.Write(gradesFile), appendTo(loweredFile, lowered.String())); err != nil {
			r.t.Error(err)
		}
	}
}

func appendTo(file, text string) error {
	if text == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return cmp.Or(err, f.Close())
}

// table prints how the answers are, by batch and sight; cases of which the label is known to be
// wrong are left out.
func (r *run) table() {
	type row struct {
		batch string
		sight scenarios.Sight
	}
	count := map[row]map[scenarios.Grade]int{}
	total := func(k row, g scenarios.Grade) {
		if count[k] == nil {
			count[k] = map[scenarios.Grade]int{}
		}
		count[k][g]++
	}
	for _, one := range r.all {
		if r.wrong[one.Scenario] != "" {
			continue
		}
		total(row{one.batch, one.Sight}, one.Grade)
		total(row{"~ all", one.Sight}, one.Grade)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-14s %-9s %5s %6s %5s %5s %8s %6s %7s\n", "batch", "sight", "cases", "right", "part", "", "unknown", "wrong", "right")
	for _, k := range slices.SortedFunc(maps.Keys(count), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.sight, b.sight), cmp.Compare(a.batch, b.batch))
	}) {
		n := count[k]
		cases := 0
		for _, m := range n {
			cases += m
		}
		fmt.Fprintf(&b, "%-14s %-9s %5d %6d %5d %5s %8d %6d %6.1f%%\n", strings.TrimPrefix(k.batch, "~ "), column(k.sight), cases,
			n[scenarios.Right], n[scenarios.Part]+n[scenarios.Beside], "", n[scenarios.Unknown], n[scenarios.Wrong], 100*float64(n[scenarios.Right])/float64(cases))
	}
	r.t.Log(b.String())
}

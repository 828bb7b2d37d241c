package fold

import (
	"crypto/rand"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/attempts"
)

// The tests' world, and what happens in it.
var (
	day              = attempts.Day
	testPod          = attempts.Pod
	failure, success = attempts.Failure, attempts.Success
	successes        = attempts.Successes
)

func open(t *testing.T, dir string, f Options) *Journal {
	t.Helper()
	j, err := Open(dir, journal.Options{Clock: func() time.Time { return day.Add(time.Hour) }}, f)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// killed gives a directory as the death of the process at this instant would leave it.
func killed(t *testing.T, dir string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "journal")
	must(t, os.CopyFS(left, os.DirFS(dir)))
	return left
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect gives the facts of an answer, which must have no error in it.
func collect(t *testing.T, facts iter.Seq2[fact.Fact, error]) []fact.Fact {
	t.Helper()
	var all []fact.Fact
	for f, err := range facts {
		must(t, err)
		all = append(all, f)
	}
	return all
}

func ids(fs []fact.Fact) []fact.ID {
	out := []fact.ID{}
	for _, f := range fs {
		out = append(out, f.ID)
	}
	return out
}

// wire is the fact's bytes, for comparing.
func wire(t *testing.T, f fact.Fact) string {
	t.Helper()
	b, err := f.MarshalJSON()
	must(t, err)
	return string(b)
}

func TestFoldKeepsWhatIsAroundAFailure(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 100 {
		must(t, j.Append(success(j.Next(1), testPod(1), i)))
	}
	before := collect(t, j.Query(journal.Query{}))
	if !slices.Equal(ids(before), []fact.ID{97, 98, 99, 100}) {
		t.Fatalf("while the run is open: %v", ids(before))
	}
	must(t, j.Append(failure(j.Next(1), testPod(1), 100)))
	must(t, j.Append(success(j.Next(1), testPod(1), 101)))
	got := collect(t, j.Query(journal.Query{}))
	if !slices.Equal(ids(got), []fact.ID{97, 98, 99, 100, 101, 102}) {
		t.Fatalf("after a failure: %v", ids(got))
	}
	run := got[0]
	p, _ := run.Body.(fact.Probed)
	if p.Count != 97 || !run.At.Equal(day) || !p.Until.Equal(day.Add(96*time.Second)) || p.Took != 40*time.Millisecond ||
		!run.Seen.Equal(day.Add(96*time.Second+3*time.Millisecond)) {
		t.Errorf("the run: %s", wire(t, run))
	}
	// Twice 1 to 40 ms and 1 to 17: of each round one up to 1 ms, one up to 2,
	// three up to 5, five up to 10, ten (or seven) up to 20, the rest up to 50.
	if !slices.Equal(p.Latency, []int64{3, 3, 9, 15, 27, 40}) {
		t.Errorf("latency %v", p.Latency)
	}
	if e := p.Evidence; e.Output != "" || e.Local != "" || e.Connect != 0 || e.Status != 200 || e.Header["Server"] != "nginx" {
		t.Errorf("evidence %+v", e)
	}
	for i, f := range got[1:4] {
		if wire(t, f) != wire(t, success(fact.ID(98+i), testPod(1), 97+i)) {
			t.Errorf("a success before the failure is not whole: %s", wire(t, f))
		}
	}
}

// TestYoungRunsHoldMore: of a row that may still reach its threshold, a decision
// can name ten.
func TestYoungRunsHoldMore(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 30 {
		must(t, j.Append(success(j.Next(1), testPod(1), i)))
	}
	got := collect(t, j.Query(journal.Query{}))
	if len(got) != 1+youngKeep || successes(got) != 30 {
		t.Errorf("%v", ids(got))
	}
}

func TestFoldTellsRunsApart(t *testing.T) {
	j := open(t, t.TempDir(), Options{Keep: 1})
	for i := range 400 {
		f := success(j.Next(1), testPod(i%2), i)
		p, _ := f.Body.(fact.Probed)
		if i%4 < 2 {
			p.Probe = fact.Readiness
		}
		f.Body = p
		must(t, j.Append(f))
	}
	got := collect(t, j.Query(journal.Query{}))
	if len(got) != 8 || successes(got) != 400 {
		t.Fatalf("%d facts for %d successes", len(got), successes(got))
	}
	// Another pod's failure ends no run of this one.
	must(t, j.Append(failure(j.Next(1), testPod(1), 401)))
	if s := j.Stats(); s.Held != 4 {
		t.Errorf("%d facts are still folded", s.Held)
	}
	// A sample ends none either; an answer that differs does.
	must(t, j.Append(fact.Fact{ID: j.Next(1), Seen: day.Add(time.Minute), Pod: testPod(0), Container: "app", Body: fact.Sampled{}}))
	if s := j.Stats(); s.Held != 4 {
		t.Errorf("after a sample %d facts are folded", s.Held)
	}
	other := success(j.Next(1), testPod(0), 700)
	p, _ := other.Body.(fact.Probed)
	p.Evidence.Status = 204
	must(t, j.Append(other))
	got = collect(t, j.Query(journal.Query{UID: testPod(0).UID}))
	last := ids(got)
	if !slices.IsSorted(last) || got[len(got)-1].ID != other.ID || successes(got) != 201 {
		t.Errorf("facts %v with %d successes", last, successes(got))
	}
}

func TestSuccessThatDecidesIsWhole(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 100 {
		must(t, j.Append(success(j.Next(1), testPod(1), i)))
	}
	// One Append with facts of several pods, as the node's loop writes them.
	other := success(j.Next(1), testPod(2), 100)
	id := j.Next(2)
	decisive := success(id, testPod(1), 100)
	decision := fact.Decide("app", 0, fact.Marked{Ready: true}, id).Fact(id+1, decisive)
	after := success(j.Next(1), testPod(1), 101)
	must(t, j.Append(other, decisive, decision, after))
	got := collect(t, j.Query(journal.Query{UID: testPod(1).UID}))
	if !slices.Equal(ids(got), []fact.ID{97, 98, 99, 100, id, id + 1, after.ID}) || wire(t, got[4]) != wire(t, decisive) {
		t.Errorf("%v", ids(got))
	}
	if s := j.Stats(); s.Held != 2 {
		t.Errorf("%d facts are still folded", s.Held)
	}
}

func TestLongRunsAreWritten(t *testing.T) {
	j := open(t, t.TempDir(), Options{Every: time.Hour})
	for i := range 5 * 360 { // every ten seconds for five hours
		must(t, j.Append(success(j.Next(1), testPod(1), 10*i)))
	}
	got := collect(t, j.Query(journal.Query{}))
	if len(got) != 4+1+3 && len(got) != 4+3 || successes(got) != 1800 {
		t.Errorf("%d facts for %d successes", len(got), successes(got))
	}
	// A question about the middle of a run finds it.
	at := day.Add(90 * time.Minute)
	mid := collect(t, j.Query(journal.Query{From: at, To: at.Add(time.Minute)}))
	if len(mid) != 1 {
		t.Errorf("the run around %s: %v", at, ids(mid))
	}
}

func TestLargeAnswersAreNotFolded(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 20 {
		f := success(j.Next(1), testPod(1), i)
		p, _ := f.Body.(fact.Probed)
		p.Evidence.Output = rand.Text() + strings.Repeat("x", (1<<20)/youngKeep)
		must(t, j.Append(f))
	}
	if got := collect(t, j.Query(journal.Query{})); len(got) != 20 {
		t.Errorf("%d facts", len(got))
	}
}

func TestOpenRunsSurviveTheProcess(t *testing.T) {
	dir := t.TempDir()
	for round := range 5 {
		j := open(t, dir, Options{})
		for i := range 10 {
			must(t, j.Append(success(j.Next(1), testPod(i%2), 100*round+i)))
		}
		r, err := journal.OpenReader(dir)
		must(t, err)
		if n := successes(collect(t, r.Query(journal.Query{}))); n != 10*(round+1) {
			t.Errorf("another process sees %d successes in round %d", n, round)
		}
		must(t, r.Close())
		dir = killed(t, dir)
	}
	j := open(t, dir, Options{})
	if got := collect(t, j.Query(journal.Query{})); successes(got) != 50 {
		t.Errorf("%d successes in %d facts", successes(got), len(got))
	}
	must(t, j.Close())
	j = open(t, dir, Options{})
	if got := collect(t, j.Query(journal.Query{})); successes(got) != 50 {
		t.Errorf("after a clean end %d successes in %d facts", successes(got), len(got))
	}
}

// TestRunWrittenButNotCleared has the process die between writing a run and
// clearing its slot: the run is not written twice.
func TestRunWrittenButNotCleared(t *testing.T) {
	for _, more := range []int{0, 1, 3, 20} {
		dir := t.TempDir()
		j := open(t, dir, Options{})
		for i := range 100 {
			must(t, j.Append(success(j.Next(1), testPod(1), i)))
		}
		slots, err := os.ReadFile(filepath.Join(dir, "open"))
		must(t, err)
		// One Append: more successes, and a failure that ends the run.
		var batch []fact.Fact
		for i := range more {
			batch = append(batch, success(j.Next(1), testPod(1), 100+i))
		}
		must(t, j.Append(append(batch, failure(j.Next(1), testPod(1), 200))...))
		want := collect(t, j.Query(journal.Query{}))
		dir = killed(t, dir)
		must(t, os.WriteFile(filepath.Join(dir, "open"), slots, 0o600))
		j = open(t, dir, Options{})
		got := collect(t, j.Query(journal.Query{}))
		if !slices.Equal(ids(got), ids(want)) || successes(got) != 100+more {
			t.Errorf("%v, %d successes; before the crash %v", ids(got), successes(got), ids(want))
		}
	}
}

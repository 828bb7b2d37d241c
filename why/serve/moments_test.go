package serve

import (
	"iter"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// until is a history as it was at a moment.
type until struct {
	journal.Source
	now time.Time
}

func (u until) Query(q journal.Query) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		for f, err := range u.Source.Query(q) {
			if !f.Seen.After(u.now) && !yield(f, err) {
				return
			}
		}
	}
}

// Whoever asks while the trouble of the first seed goes on is told its cause at every
// moment from the first restart on, and not only when all is over: the server also says
// that a limit of its own is reached, and it has only just started.
func TestSeedAtEveryMoment(t *testing.T) {
	for _, file := range []string{"seed-000", "seed-000-late"} {
		source, err := journal.OpenFile("testdata/" + file + ".facts")
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for now := source.Stats().First; now.Before(source.Stats().Last); now = now.Add(time.Second) {
			q := Question{Namespace: source.Pods()[0].Pod.Namespace, Name: "subject"}
			q.Now = now
			a, err := One(until{source, now}, q)
			if err != nil {
				continue // it was not there yet
			}
			for i, v := range a.Verdicts {
				if a.Symptoms[i].Kind != answer.Restarted {
					continue
				}
				if asked++; v.Cause != answer.MemoryLimitChild {
					t.Errorf("%s at %s: %s: %s", file, now.Format(time.TimeOnly), v.Cause, v.Text)
				}
			}
		}
		if asked < 5 {
			t.Errorf("%s was asked about at %d moments only", file, asked)
		}
	}
}

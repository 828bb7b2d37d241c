package journal_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	"whylet.dev/whylet/test/attempts"
)

// killDir has the test binary be the writer of TestKilledAtAnyInstant.
const killDir = "WHYLET_JOURNAL_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		writeUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled appends as an agent does, and prints the id of every fact
// after Append has returned.
func writeUntilKilled(dir string) {
	j, err := fold.Open(dir, journal.Options{SegmentBytes: 24 << 10, Clock: journal.TestDay}, fold.Options{Every: 5 * time.Second, Keep: 2})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		pod := attempts.Pod(i % 4)
		n := 1 + i%3
		id := j.Next(n)
		var facts []fact.Fact
		for k := range n {
			facts = append(facts, attempts.Failure(id+fact.ID(k), pod, int(id)+k))
		}
		if i%5 != 0 {
			facts = []fact.Fact{attempts.Success(id, pod, int(id))}
		}
		if i%7 == 0 { // a batch, as the node's loop writes them
			for k := range 3 {
				id := j.Next(1)
				facts = append(facts, attempts.Success(id, attempts.Pod((i+k)%4), int(id)))
			}
		}
		if err := j.Append(facts...); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		for _, f := range facts {
			p, _ := f.Body.(fact.Probed)
			fmt.Println(p.Verdict, f.ID, f.Pod.UID)
		}
	}
}

// TestKilledAtAnyInstant is law 3 for the journal: whatever was acknowledged
// before a SIGKILL is there after it, once. Failures are found by id;
// successes, which fold, are counted, and no run may overlap another.
func TestKilledAtAnyInstant(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 40
	}
	if n, err := strconv.Atoi(os.Getenv("WHYLET_JOURNAL_KILLS")); err == nil {
		rounds = n
	}
	dir := t.TempDir()
	acked := map[fact.ID]fact.Verdict{}
	succeeded := map[string]int64{}
	instants := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		runAndKill(t, dir, time.Duration(instants.IntN(25_000))*time.Microsecond, acked, succeeded)
		if round%10 == 9 || round == rounds-1 {
			checkAcknowledged(t, dir, acked, succeeded)
		}
	}
	t.Logf("%d kills, %d facts acknowledged", rounds, len(acked))
}

func runAndKill(t *testing.T, dir string, after time.Duration, acked map[fact.ID]fact.Verdict, succeeded map[string]int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	out, err := cmd.StdoutPipe()
	journal.Must(t, err)
	journal.Must(t, cmd.Start())
	timer := time.AfterFunc(after+15*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // killed; a line that was cut acknowledges nothing
		}
		w := strings.Fields(line)
		if len(w) != 3 {
			t.Fatalf("the writer says %q", line)
		}
		n, err := strconv.ParseUint(w[1], 10, 64)
		journal.Must(t, err)
		if acked[fact.ID(n)] != "" {
			t.Fatalf("fact id %d was given twice", n)
		}
		acked[fact.ID(n)] = fact.Verdict(w[0])
		if w[0] == string(fact.Success) {
			succeeded[w[2]]++
		}
	}
	_ = cmd.Wait()
}

func checkAcknowledged(t *testing.T, dir string, acked map[fact.ID]fact.Verdict, succeeded map[string]int64) {
	t.Helper()
	j, err := fold.Open(dir, journal.Options{Clock: journal.TestDay}, fold.Options{})
	journal.Must(t, err)
	found := map[fact.ID]bool{}
	counted := map[string]int64{}
	until := map[string]time.Time{}
	var last fact.ID
	for _, f := range journal.Collect(t, j.Query(journal.Query{})) {
		if f.ID <= last {
			t.Fatalf("fact %d comes after %d", f.ID, last)
		}
		last = f.ID
		found[f.ID] = true
		switch p := f.Body.(type) {
		case fact.Probed:
			if p.Verdict == fact.Success {
				pod := string(f.Pod.UID)
				counted[pod] += max(p.Count, 1)
				if !f.At.After(until[pod]) {
					t.Fatalf("success %d is counted twice: it begins at %s, the run before ended at %s", f.ID, f.At, until[pod])
				}
				if until[pod] = p.Until; p.Until.IsZero() {
					until[pod] = f.At
				}
			}
		case fact.Lost:
			t.Fatalf("something is lost: %+v", p)
		}
	}
	journal.Must(t, j.Close())
	for id, verdict := range acked {
		if verdict == fact.Failure && !found[id] {
			t.Errorf("acknowledged failure %d is missing", id)
		}
	}
	for pod, n := range succeeded {
		if counted[pod] < n {
			t.Errorf("pod %s: %d successes acknowledged, %d found", pod, n, counted[pod])
		}
	}
}

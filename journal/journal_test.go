package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

func TestWhatWasAppendedIsFound(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	id := j.Next(3)
	facts := []fact.Fact{failure(id, testPod(1), 0), failure(id+1, testPod(2), 1), failure(id+2, testPod(1), 2)}
	must(t, j.Append(facts...))

	check := func(s Source) {
		t.Helper()
		got := collect(t, s.Query(Query{}))
		if !slices.Equal(ids(got), []fact.ID{1, 2, 3}) {
			t.Fatalf("ids %v", ids(got))
		}
		for i := range got {
			if wire(t, got[i]) != wire(t, facts[i]) {
				t.Errorf("fact %d came back as\n%s\nwas\n%s", i, wire(t, got[i]), wire(t, facts[i]))
			}
		}
		if got := ids(collect(t, s.Query(Query{UID: testPod(1).UID, Reverse: true}))); !slices.Equal(got, []fact.ID{3, 1}) {
			t.Errorf("newest of pod 1 first: %v", got)
		}
		if f, ok, err := s.Get(2); !ok || err != nil || f.Pod != testPod(2) {
			t.Errorf("get: %v %v %v", f, ok, err)
		}
		if _, ok, err := s.Get(9); ok || err != nil {
			t.Errorf("get of what is not there: %v %v", ok, err)
		}
		if pods := s.Pods(); len(pods) != 2 || pods[0].Facts != 2 || !pods[0].First.Equal(day) || !pods[0].Last.Equal(day.Add(2*time.Second)) {
			t.Errorf("pods %+v", pods)
		}
		if st := s.Stats(); st.Facts != 3 || st.Pods != 2 || st.FirstID != 1 || st.LastID != 3 || st.Degraded != "" {
			t.Errorf("stats %+v", st)
		}
	}
	check(j)
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	check(r)
	must(t, j.Close())
	check(r)
	j = open(t, dir, Options{})
	check(j)
	if id := j.Next(1); id != 4 {
		t.Errorf("after a clean end the next id is %d", id)
	}
	must(t, j.commitAndSeal())
	check(j)
	check(r)
}

// commitAndSeal seals the current log, however small.
func (j *Journal) commitAndSeal() error {
	j.commit.Lock()
	err := j.beginLog()
	j.commit.Unlock()
	return errors.Join(err, j.keep())
}

func TestQueriesChoose(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 60 {
		f := failure(j.Next(1), testPod(i%3), i)
		if i%10 == 0 {
			f.Container = "sidecar"
			f.Body = fact.Exited{ContainerID: "containerd://x", ExitCode: 1}
		}
		if i%7 == 0 {
			f.Pod = fact.Pod{}
		}
		must(t, j.Append(f))
		if i == 25 || i == 40 {
			must(t, j.commitAndSeal())
		}
	}
	all := collect(t, j.Query(Query{}))
	for _, f := range all {
		if got, ok, err := j.Get(f.ID); !ok || err != nil || wire(t, got) != wire(t, f) {
			t.Errorf("get %d: %v %v", f.ID, ok, err)
		}
	}
	for name, q := range map[string]Query{
		"uid":       {UID: testPod(1).UID},
		"name":      {Namespace: "shop", Name: "web-2"},
		"node":      {Node: true},
		"container": {Container: "sidecar"},
		"kind":      {Kinds: []fact.Kind{"Exited"}},
		"unknown":   {Kinds: []fact.Kind{"Nothing"}},
		"time":      {From: day.Add(13 * time.Second), To: day.Add(47 * time.Second)},
		"ids":       {FromID: 10, ToID: 30},
		"limit":     {Limit: 7},
		"reverse":   {Reverse: true, Limit: 33},
		"several":   {UID: testPod(2).UID, Kinds: []fact.Kind{"Probed"}, From: day.Add(20 * time.Second), Reverse: true, Limit: 4},
	} {
		if got, want := ids(collect(t, j.Query(q))), ids(choose(all, q)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// choose is a query as a plain loop over all facts.
func choose(all []fact.Fact, q Query) []fact.Fact {
	var out []fact.Fact
	for _, f := range all {
		if q.wants(headOf(f)) {
			out = append(out, f)
		}
	}
	if q.Reverse {
		slices.Reverse(out)
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := open(t, dir, Options{})
	must(t, j.Append(success(j.Next(1), testPod(1), 0)))
	must(t, j.Append(failure(j.Next(1), testPod(1), 1)))
	must(t, j.commitAndSeal())
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	}))
}

func TestOnlyOneWriter(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
}

func TestBadFactsAreRefusedWhole(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	good := failure(j.Next(1), testPod(1), 0)
	for name, bad := range map[string]fact.Fact{
		"no id":     failure(0, testPod(1), 0),
		"no body":   {ID: 7, Seen: day},
		"no reason": {ID: 7, Seen: day, Body: fact.Kill{}},
	} {
		if err := j.Append(good, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := collect(t, j.Query(Query{})); len(got) != 0 {
		t.Errorf("found %v", ids(got))
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	const writers, each = 8, 300
	dir := t.TempDir()
	j := open(t, dir, Options{SegmentBytes: 32 << 10, Sync: SyncAlways})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var tailed sync.WaitGroup
	seen := map[fact.ID]int{}
	tailed.Go(func() {
		for f, err := range j.Tail(ctx, 0) {
			if err != nil {
				t.Error(err)
			}
			if seen[f.ID]++; len(seen) == writers*each {
				cancel()
			}
		}
	})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := j.Next(2)
				f := failure(id, testPod(w), i)
				kill := fact.Fact{ID: id + 1, At: f.Seen, Seen: f.Seen, Pod: f.Pod, Because: []fact.ID{id}, Body: fact.SetPhase{Phase: "Running"}}
				if i%2 == 1 {
					kill = failure(id+1, testPod(w), i)
				}
				if err := j.Append(f, kill); err != nil {
					t.Error(err)
				}
				_ = each
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			n := 0
			last := fact.ID(0)
			for f, err := range j.Query(Query{UID: testPod(3).UID}) {
				if err != nil || f.ID <= last {
					t.Errorf("fact %d after %d: %v", f.ID, last, err)
				}
				last = f.ID
				n++
			}
			if n%2 != 0 {
				t.Errorf("half an Append was seen: %d facts", n)
			}
		}
	})
	wg.Wait()
	tailed.Wait()
	if got := len(collect(t, j.Query(Query{}))); got != 2*writers*each {
		t.Errorf("%d facts", got)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("tail gave fact %d %d times", id, n)
		}
	}
}

func TestReaderFollowsAWriter(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{SegmentBytes: 16 << 10})
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const n = 1000
	go func() {
		for i := range n {
			if err := j.Append(failure(j.Next(1), testPod(i%5), i)); err != nil {
				t.Error(err)
			}
		}
	}()
	next := fact.ID(1)
	for f, err := range r.Tail(ctx, 0) {
		must(t, err)
		if f.ID != next {
			t.Fatalf("fact %d, want %d", f.ID, next)
		}
		if next++; next > n {
			break
		}
	}
	if next <= n {
		t.Fatalf("saw only %d facts", next-1)
	}
	if got := len(collect(t, r.Query(Query{}))); got != n {
		t.Errorf("%d facts", got)
	}
	if d := r.Damage(); len(d) > 0 {
		t.Error(d)
	}
}

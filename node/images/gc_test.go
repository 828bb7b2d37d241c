package images

import (
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri/critest"
	_ "whylet.dev/whylet/test/fixedseed"
)

func TestToFree(t *testing.T) {
	p := DefaultPolicy
	for _, test := range []struct{ capacity, available, want int64 }{
		{100, 50, 0}, {100, 16, 0}, {100, 15, 5}, {100, 0, 20}, {1000, 200, 0}, {100, 200, 0},
	} {
		if got := p.toFree(test.capacity, test.available); got != test.want {
			t.Errorf("%d of %d free: %d to free, want %d", test.available, test.capacity, got, test.want)
		}
	}
}

// TestVictims draws images with a history and checks what may go.
func TestVictims(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1_000_000, 0)
		records := map[string]sighting{}
		var present []Stored
		inUse := map[string]bool{}
		for i := range rapid.IntRange(0, 8).Draw(rt, "images") {
			id := string(rune('a' + i))
			ago := func(label string) time.Time {
				return now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(rt, label)) * time.Second)
			}
			s := sighting{since: ago("since")}
			if rapid.Bool().Draw(rt, "ever used") {
				s.used = ago("used")
			}
			records[id] = s
			inUse[id] = rapid.Bool().Draw(rt, "in use")
			present = append(present, Stored{ID: id, Pinned: rapid.IntRange(0, 4).Draw(rt, "pinned") == 0})
		}
		records = remember(records, present, inUse, now)
		got := victims(records, present, inUse, DefaultPolicy.MinAge, now)
		for i, v := range got {
			r := records[v.ID]
			if inUse[v.ID] || v.Pinned || now.Sub(r.since) < DefaultPolicy.MinAge {
				rt.Fatalf("%s may not go", v.ID)
			}
			if i > 0 && records[got[i-1].ID].used.After(r.used) {
				rt.Fatalf("%s was used later than %s, and goes first", got[i-1].ID, v.ID)
			}
		}
		for _, v := range present {
			may := !inUse[v.ID] && !v.Pinned && now.Sub(records[v.ID].since) >= DefaultPolicy.MinAge
			if may != slices.ContainsFunc(got, func(g Stored) bool { return g.ID == v.ID }) {
				rt.Fatalf("%s: may go %v", v.ID, may)
			}
		}
	})
}

func TestCollectKeepsWhatIsUsed(t *testing.T) {
	n := critest.Start(t)
	r := startRegistry(t, "")
	m := newManager(t, n, func(o *Options) { o.Policy = GCPolicy{High: 0, Low: 0, MinAge: time.Nanosecond} })
	if _, err := m.Ensure(t.Context(), pod(), container(r.image(), v1.PullAlways), func(fact.Observed) {}); err != nil {
		t.Fatal(err)
	}
	p := n.RunPod(t, nil, critest.Sh("main", "sleep 100"))
	p.Start("main", 0)

	has := func(name string) bool {
		all, err := m.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(s Stored) bool { return slices.Contains(s.Tags, name) })
	}
	if !has(r.image()) || !has(critest.Box) {
		t.Fatal("the images are not there to begin with")
	}
	// The first call sees the images, and none is old enough by then.
	for range 2 {
		_, err := m.Collect(t.Context())
		var full *FullError
		if err != nil && !errors.As(err, &full) {
			t.Fatal(err)
		}
	}
	if has(r.image()) {
		t.Error("an unused image is still there")
	}
	if !has(critest.Box) {
		t.Error("an image in use is gone")
	}
	if removed, err := m.CollectAll(t.Context()); err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func TestReadable(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 30: "3.0 GiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := readable(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/fronts"
)

// places are an archive's databases: a file, and Debian's PostgreSQL where it is installed.
func places(t *testing.T) map[string]string {
	all := map[string]string{"sqlite": filepath.Join(t.TempDir(), "archive.db")}
	if p := fronts.NewPostgres(t); p != nil {
		all["postgres"] = p.Place
	}
	return all
}

func open(t *testing.T, place string, o Options) *Archive {
	t.Helper()
	o.Place, o.Log = place, slog.New(slog.DiscardHandler)
	a := New(o)
	err := a.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

var began = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

// closing is the n-th end of a node.
func closing(node, name string, uid types.UID, n int, confirmed bool) front.Closing {
	at := began.Add(time.Duration(n) * time.Second)
	return front.Closing{Node: node, Confirmed: confirmed, Ended: link.Ended{
		Mark: link.Mark{ID: fact.ID(n), Seen: at}, Pod: fact.Pod{Namespace: "shop", Name: name, UID: uid}, Owner: "rs", At: at,
		Answer: []byte(fmt.Sprintf(`{"n":%d,"node":%q}`, n, node)),
	}}
}

func TestWhatIsKeptIsFound(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			ctx, a := t.Context(), open(t, place, Options{})
			if m, err := a.Kept(ctx, "node-a"); err != nil || m != (link.Mark{}) {
				t.Fatalf("%v %+v", err, m)
			}
			ends := []front.Closing{closing("node-a", "web", "u1", 1, true), closing("node-a", "web", "u2", 2, true), closing("node-a", "db", "u3", 3, true)}
			for range 2 { // told twice, kept once
				if err := a.Keep(ctx, "node-a", ends); err != nil {
					t.Fatal(err)
				}
			}
			_ = a.Close()
			a = open(t, place, Options{}) // another life
			if m, err := a.Kept(ctx, "node-a"); err != nil || m.ID != 3 || !m.Seen.Equal(ends[2].Mark.Seen) {
				t.Errorf("%v %+v", err, m)
			}
			for _, c := range []struct {
				name string
				uid  types.UID
				want types.UID
			}{{"web", "", "u2"}, {"web", "u1", "u1"}, {"db", "", "u3"}, {"db", "u1", ""}, {"nobody", "", ""}} {
				got, ok, err := a.Newest(ctx, "shop", c.name, c.uid)
				if err != nil || ok != (c.want != "") || got.Pod.UID != c.want {
					t.Errorf("%+v: %v %v %+v", c, err, ok, got)
				}
			}
			if got, _, err := a.Newest(ctx, "shop", "db", ""); err != nil || string(got.Answer) != string(ends[2].Answer) || !got.At.Equal(ends[2].At) || got.Node != "node-a" {
				t.Errorf("%v %+v", err, got)
			}
			if _, ok, err := a.Newest(ctx, "other", "web", ""); ok || err != nil {
				t.Errorf("of another namespace: %v %v", ok, err)
			}
			if all, err := a.Owned(ctx, "shop", "rs"); err != nil || len(all) != 3 || all[0].Pod.UID != "u3" {
				t.Errorf("%v %+v", err, all)
			}
			if bytes, n, err := a.Size(ctx); err != nil || n != 3 || bytes == 0 {
				t.Errorf("%v %d %d", err, bytes, n)
			}
		})
	}
}

// A node cannot change what another one told, nor take its place.
func TestANodeSpeaksForItselfOnly(t *testing.T) {
	a := open(t, filepath.Join(t.TempDir(), "a.db"), Options{})
	for _, c := range []front.Closing{closing("node-a", "web", "u1", 1, true), closing("evil", "web", "u1", 9, false)} {
		if err := a.Keep(t.Context(), c.Node, []front.Closing{c}); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := a.Newest(t.Context(), "shop", "web", ""); err != nil || !ok || got.Node != "node-a" {
		t.Errorf("%v %+v", err, got)
	}
	if all, err := a.Owned(t.Context(), "shop", "rs"); err != nil || len(all) != 1 {
		t.Errorf("%v %+v", err, all)
	}
}

func TestOldAndManyGo(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			a := open(t, place, Options{MaxAge: time.Hour, MaxBytes: 20 << 10})
			var ends []front.Closing
			for i := range 100 {
				c := closing("node-a", "web", types.UID(fmt.Sprint(i)), i, true)
				noise := make([]byte, 400)
				_, _ = rand.Read(noise)
				c.Answer = fmt.Appendf(nil, `{"n":%q}`, noise)
				ends = append(ends, c)
			}
			ends[0].At = began.Add(-2 * time.Hour)
			if err := a.Keep(t.Context(), "node-a", ends); err != nil {
				t.Fatal(err)
			}
			if err := a.Prune(t.Context(), began); err != nil {
				t.Fatal(err)
			}
			size, n, err := a.Size(t.Context())
			if err != nil || size > 20<<10 || n < 10 {
				t.Errorf("%v: %d answers of %d bytes", err, n, size)
			}
			if _, ok, _ := a.Newest(t.Context(), "shop", "web", "0"); ok {
				t.Error("the old one is there")
			}
			if _, ok, _ := a.Newest(t.Context(), "shop", "web", "99"); !ok {
				t.Error("the newest one went")
			}
			if m, err := a.Kept(t.Context(), "node-a"); err != nil || m.ID != 99 {
				t.Errorf("%v %+v", err, m) // or all would be told again
			}
		})
	}
}

// A disk that is missing is said once, stops nobody, and is taken when it is back.
func TestADiskThatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	var log bytes.Buffer
	a := New(Options{Place: filepath.Join(dir, "a.db"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if err := a.Open(t.Context()); err == nil || a.Trouble() == nil {
			t.Fatal("it opens on nothing")
		}
	}
	c := closing("node-a", "web", "u1", 1, true)
	if err := a.Keep(t.Context(), "node-a", []front.Closing{c}); err == nil {
		t.Error("it acknowledges what it cannot keep")
	}
	if n := strings.Count(log.String(), "does not work"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.Open(context.Background()); err != nil || a.Trouble() != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Keep(t.Context(), "node-a", []front.Closing{c}); err != nil {
		t.Error(err)
	}
}

// A disk that is full acknowledges nothing, is said once, leaves what is there to be found, and
// takes more when there is room.
func TestADiskThatIsFull(t *testing.T) {
	var log bytes.Buffer
	a := New(Options{Place: filepath.Join(t.TempDir(), "a.db"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.db.SetMaxOpenConns(1) // whose room it is
	room := func(pages int) {
		t.Helper()
		if _, err := a.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	room(1) // as many as there are
	kept, refused := 0, 0
	for n := 1; refused < 3; n++ {
		c := closing("node-a", "web", types.UID(fmt.Sprint(n)), n, true)
		c.Answer = []byte(rand.Text() + strings.Repeat(rand.Text(), 100))
		switch err := a.Keep(t.Context(), "node-a", []front.Closing{c}); {
		case err != nil && a.Trouble() != nil:
			refused++
		case err != nil || refused > 0:
			t.Fatalf("the %d-th: %v, %v", n, err, a.Trouble())
		default:
			kept++
		}
	}
	if m, err := a.Kept(t.Context(), "node-a"); err != nil || int(m.ID) != kept {
		t.Errorf("up to %v are acknowledged, and %d were kept: %v", m, kept, err)
	}
	if n := strings.Count(log.String(), "does not work"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	room(1 << 20)
	if err := a.Keep(t.Context(), "node-a", []front.Closing{closing("node-a", "web", "later", kept+1, true)}); err != nil || a.Trouble() != nil {
		t.Error(err, a.Trouble())
	}
	if _, ok, err := a.Newest(t.Context(), "shop", "web", "later"); err != nil || !ok {
		t.Error(ok, err)
	}
}

// Tables of a later version are left alone.
func TestLaterTables(t *testing.T) {
	place := filepath.Join(t.TempDir(), "a.db")
	a := open(t, place, Options{})
	if _, err := a.db.Exec("INSERT INTO version (number) VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	if err := a.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Error(err)
	}
}

package archive

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/test/fronts"
)

// TestFilesAreClosedToOthers: answers quote logs, so the archive is as closed as the journal,
// also one that a release before left open.
func TestFilesAreClosedToOthers(t *testing.T) {
	place := filepath.Join(t.TempDir(), "a.db")
	look := func(when string) {
		t.Helper()
		for _, name := range []string{place, place + "-wal", place + "-shm"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s: %v, %v", when, filepath.Base(name), info, err)
			}
		}
	}
	a := open(t, place, Options{})
	if err := a.Keep(t.Context(), "node-a", []front.Closing{closing("node-a", "web", "u1", 1, true)}); err != nil {
		t.Fatal(err)
	}
	look("made")
	for _, name := range []string{place, place + "-wal", place + "-shm"} {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open(t, place, Options{})
	look("opened again")
}

// TestServersAreVerified: a DSN is taken only where nobody between could read the password.
func TestServersAreVerified(t *testing.T) {
	for _, name := range []string{"PGSSLMODE", "PGSSLROOTCERT", "PGHOST"} {
		t.Setenv(name, "")
	}
	for dsn, want := range map[string]string{
		"postgres://u:zq55secret@db/w?sslmode=verify-full":                      "",
		"postgresql://u:zq55secret@db:5433/w?sslmode=verify-full":               "",
		"postgres://u:zq55secret@a,b/w?sslmode=verify-full":                     "",
		"host=db user=u password=zq55secret sslmode=verify-full":                "",
		"postgres://u@/w?host=/run/postgresql":                                  "",
		"/var/lib/whylet-front/archive.db":                                      "",
		"postgres://u:zq55secret@db/w":                                          "verify-full",
		"postgres://u:zq55secret@db/w?sslmode=disable":                          "verify-full",
		"postgres://u:zq55secret@db/w?sslmode=allow":                            "verify-full",
		"postgres://u:zq55secret@db/w?sslmode=require":                          "verify-full",
		"postgres://u:zq55secret@db/w?sslmode=verify-ca":                        "verify-full",
		"host=db user=u password=zq55secret":                                    "verify-full",
		"postgres://u:zq55secret@db:port/w":                                     "does not parse",
		"postgres://u:zq55secret%@db/w?sslmode=verify-full":                     "does not parse",
		"postgres://u:zq55secret@db/w?sslmode=verify-full&sslrootcert=/nowhere": "open /nowhere",
	} {
		err := New(Options{Place: dsn}).Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dsn, err)
		}
		if strings.Contains(fmt.Sprint(err), "zq55") {
			t.Errorf("the password is told: %v", err)
		}
	}
	if err := New(Options{Place: "postgres://u@db/w", Insecure: true}).Check(); err != nil {
		t.Error(err)
	}
}

// TestAPlaceInAFile: the password stands in a file, and a changed one is taken over.
func TestAPlaceInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dsn")
	a := New(Options{PlaceFile: file, Log: slog.New(slog.DiscardHandler)})
	for text, want := range map[string]string{"-": "no such file", " \n": "is empty", "postgres://db/w\n": "verify-full"} {
		if text != "-" {
			write(t, file, text)
		}
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		_ = os.Remove(file)
	}
	p := fronts.NewPostgres(t)
	if p == nil {
		t.Skip("there is no PostgreSQL to start")
	}
	write(t, file, p.Place+"\n")
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Kept(t.Context(), "node-a"); err != nil {
		t.Fatal(err)
	}
	a.db.SetMaxIdleConns(0) // each question makes a connection
	write(t, file, "postgres://nobody@db/w?sslmode=disable")
	if _, err := a.Kept(t.Context(), "node-a"); err == nil || !strings.Contains(err.Error(), "verify-full") {
		t.Errorf("the file was changed: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

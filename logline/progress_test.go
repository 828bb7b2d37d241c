package logline_test

import (
	"testing"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/words"
)

func TestProgress(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"of so many":                {[]string{"loading weights: shard 1 of 40", "loading weights: shard 2 of 40"}, "loading weights: shard 2 of 40"},
		"behind a slash":            {[]string{"2026-11-24 01:33:15 INFO migrating 7/90", "2026-11-24 01:33:17 INFO migrating 9/90"}, "migrating 9/90"},
		"per cent":                  {[]string{"Loading index: 12.5%", "Loading index: 80 %", "Loading index: 93.1%"}, "Loading index: 93.1%"},
		"part after part":           {[]string{"loading dictionary de (1 of 10)", "loading dictionary en (2 of 10)"}, "loading dictionary en (2 of 10)"},
		"in other words":            {[]string{"shard 1 of 40", "replica 2 of 40"}, ""},
		"one after the other":       {[]string{"load module=a.tasks (1 of 16)", "load module=b (2 of 16)", "load module=c.x (3 of 16)"}, "load module=c.x (3 of 16)"},
		"done":                      {[]string{"shard 1 of 2", "shard 2 of 2"}, ""},
		"it does not go on":         {[]string{"shard 1 of 40", "shard 1 of 40"}, ""},
		"once":                      {[]string{"shard 1 of 40"}, ""},
		"once, and that it is work": {[]string{"starting", "price lists: 5 of 40 read"}, "price lists: 5 of 40 read"},
		"once, and something else":  {[]string{"price lists: 5 of 40 read", "listening on 8080"}, ""},
		"once, and all of it":       {[]string{"price lists: 40 of 40 read"}, ""},
		"the time of the day":       {[]string{"11/24 started", "11/24 listening"}, ""},
		"no lines":                  {nil, ""},
	} {
		got := ""
		if i := words.Read(test.lines).Progress(); i >= 0 {
			got = logline.Message(test.lines[i])
		}
		if got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestStepping(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  bool
	}{
		"migrations":         {[]string{"Starting", `Migrating schema "public" to version "45"`, `Migrating schema "public" to version "46"`}, true},
		"upgrades":           {[]string{"INFO [alembic.runtime.migration] Running upgrade 0000 -> 0001, users", "INFO [alembic.runtime.migration] Running upgrade 0001 -> 0002, groups"}, true},
		"one":                {[]string{`Migrating schema "public" to version "46"`}, false},
		"the same again":     {[]string{`Migrating to version 46`, `Migrating to version 46`}, false},
		"something after it": {[]string{`Migrating to version 45`, `Migrating to version 46`, "listening on 8080"}, false},
		"tries":              {[]string{"loading failed: connection refused (try 1)", "loading failed: connection refused (try 2)"}, false},
		"no work":            {[]string{"tick 1", "tick 2", "tick 3"}, false},
		"no lines":           {nil, false},
	} {
		if got := words.Read(test.lines).Stepping() >= 0; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestByName(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  int
	}{
		"plugins":            {[]string{"Operational MODE: preforking", "loading plugin circuits", "loading plugin dcim", "loading plugin extras"}, 1},
		"one":                {[]string{"loading plugin circuits"}, -1},
		"the same again":     {[]string{"loading plugin circuits", "loading plugin circuits"}, -1},
		"something after it": {[]string{"loading plugin circuits", "loading plugin dcim", "listening on 8080"}, -1},
		"requests":           {[]string{"GET /a", "GET /b"}, -1},
		"one word":           {[]string{"loading", "loaded"}, -1},
		"no lines":           {nil, -1},
	} {
		if got := words.Read(test.lines).ByName(); got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestSinceWaits(t *testing.T) {
	const refused, waits = "database is not reachable yet: Connection refused", "Waiting for migrations... 5 second(s)"
	for name, test := range map[string]struct {
		lines []string
		want  int
	}{
		"it is past that":         {[]string{refused, waits, waits}, 2},
		"it tries again":          {[]string{refused, waits, refused, waits}, 4},
		"it waits, and is failed": {[]string{waits, waits, refused}, 3},
		"no lines":                {nil, 0},
	} {
		if got := len(test.lines[words.Read(test.lines).SinceWaits():]); got != test.want {
			t.Errorf("%s: %d lines", name, got)
		}
	}
}

func FuzzProgress(f *testing.F) {
	f.Add("shard 1 of 40", "shard 2 of 40")
	f.Add("1%", "99999999999999999999999%")
	f.Add("Migrating to version 45", "Migrating to version 99999999999999999999999")
	f.Fuzz(func(_ *testing.T, a, b string) {
		words.Read([]string{a, b}).Progress()
		words.Read([]string{a, b}).Stepping()
		words.Read([]string{a, b}).ByName()
	})
}

func TestBegun(t *testing.T) {
	for line, want := range map[string]bool{
		"03:45:21  INFO 1 --- [main] Initializing JPA EntityManagerFactory for persistence unit 'default'": true,
		"loading model from /models/base":                    true,
		"Reading configuration from /etc/app.ini":            false,
		"INFO: Initializing failed: no such table":           false,
		"Started PreferencesApplication on port 8080 (http)": false,
	} {
		if got := words.Read([]string{"Starting", line}).Begun(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

package logline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/logline"
)

func TestGroups(t *testing.T) {
	begin := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		log  string
		want string // count, first, last and severity of each group
	}{
		"numbers and addresses":   {"ERROR dial tcp 10.0.0.7:5432: connection refused\nINFO tick\nERROR dial tcp 10.0.0.9:5433: connection refused", "2× 0-2"},
		"names of others":         {"ERROR redis:6379 refused\nERROR postgres:5432 refused", "1× 0-0, 1× 1-1"},
		"ids":                     {"ERROR order 7f3a-99c1 failed\nERROR order 88bc-0012 failed", "2× 0-1"},
		"quoted values":           {`ERROR no such table "users"` + "\n" + `ERROR no such table "orders, old"`, "2× 0-1"},
		"an apostrophe":           {"ERROR can't read it's header\nERROR can't read its body", "1× 0-0, 1× 1-1"},
		"a quote that is open":    {`ERROR near "select` + "\n" + `ERROR near "insert`, "1× 0-0, 1× 1-1"},
		"JSON":                    {`{"level":"error","msg":"query failed","err":"timeout after 30s"}` + "\n" + `{"level":"error","msg":"query failed","err":"timeout after 31s"}`, "2× 0-1"},
		"nothing but values":      {"ERROR 17\nERROR 18", "2× 0-1"},
		"different things":        {"ERROR a fails\nERROR b fails\nERROR a fails", "1× 1-1, 2× 0-2"},
		"what is less severe":     {"INFO 1\nWARN slow\nGET /x 200", ""},
		"in the order of the end": {"ERROR x broke\nERROR y broke\nERROR x broke\nERROR y broke", "2× 0-2, 2× 1-3"},
	} {
		lines := strings.Split(test.log, "\n")
		var times []time.Time
		for i := range lines {
			times = append(times, begin.Add(time.Duration(i)*time.Second))
		}
		var got []string
		for _, g := range logline.Parse(lines, nil).Groups(logline.Error, times) {
			got = append(got, fmt.Sprintf("%d× %d-%d", g.Count, g.First, g.Last))
			if !g.From.Equal(times[g.First]) || !g.Until.Equal(times[g.Last]) {
				t.Errorf("%s: from %s until %s", name, g.From, g.Until)
			}
		}
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%s: %q, want %q", name, s, test.want)
		}
	}
}

func TestGroupsAreBounded(t *testing.T) {
	var lines []string
	for i := range 5000 {
		lines = append(lines, "ERROR "+strings.Repeat("x", i%700+1)+" failed")
	}
	groups := logline.Parse(lines, nil).Groups(logline.Error, nil)
	if len(groups) != 128 || groups[127].Last != 4999 || !groups[127].From.IsZero() {
		t.Errorf("%d groups, the last %+v", len(groups), groups[len(groups)-1])
	}
}

// Of a long log the counts and the first times are those of all its lines.
func TestParseLong(t *testing.T) {
	begin := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	var lines []string
	var times []time.Time
	for i := range 50_000 {
		text := fmt.Sprintf("INFO served request %d", i)
		switch {
		case i == 20_000:
			text = "ERROR connection not acquired from pool in 30 s"
		case i%100 == 99:
			text = fmt.Sprintf("ERROR order %d failed: timeout after %dms", i, i%7)
		}
		lines, times = append(lines, text), append(times, begin.Add(time.Duration(i)*time.Millisecond))
	}
	s, at := logline.ParseLong(lines, times, nil)
	groups := s.Groups(logline.Error, at)
	if len(groups) != 2 || groups[0].Count != 1 || groups[1].Count != 500 {
		t.Fatalf("%+v", groups)
	}
	if g := groups[1]; !g.From.Equal(times[99]) || !g.Until.Equal(times[49_999]) || s.Len() > 20 {
		t.Errorf("%+v of %d lines that were read", g, s.Len())
	}
}

package fact

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestScalingIn(t *testing.T) {
	for message, want := range map[string]string{
		"Scaled down replica set web-1 from 2 to 1":            "web-1 false 2 1",
		"Scaled up replica set web-1 from 0 to 3":              "web-1 true 0 3",
		"Scaled up replica set web-1 to 3 from 0":              "web-1 true 0 3",
		"Scaled up replica set web-1 to 3":                     "web-1 true -1 3",
		Combined + "Scaled down replica set web-1 from 9 to 0": "web-1 false 9 0",
		"Scaled down replica set web-1":                        "",
		"Scaled down replica set web-1 from 2":                 "",
		"Scaled down replica set web-1 from 2 to -1":           "",
		"Scaled down replica set web-1 from two to 1":          "",
		"Created new replica set \"web-1\"":                    "",
		"":                                                     "",
	} {
		got := ""
		if s, ok := ScalingIn(message, time.Time{}); ok {
			got = strings.Join([]string{s.Set, fmt.Sprint(s.Up), fmt.Sprint(s.From), fmt.Sprint(s.To)}, " ")
		}
		if got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

func FuzzScalingIn(f *testing.F) {
	f.Add("Scaled down replica set web-1 from 2 to 1")
	f.Add("Scaled up replica set web-1 to 3 from 0")
	f.Fuzz(func(t *testing.T, message string) {
		if s, ok := ScalingIn(message, time.Time{}); ok && (s.Set == "" || s.To < 0 || s.From < -1 || !strings.Contains(message, s.Set)) {
			t.Errorf("%q: %+v", message, s)
		}
	})
}

// Of a Deployment's words it is told why a pod was deleted only where they tell all of it.
func TestRescaled(t *testing.T) {
	at := time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)
	type said struct {
		at      time.Duration
		message string
	}
	made := said{-time.Hour, "Scaled up replica set web-1 from 0 to 3"}
	less, none, last := said{-time.Second, "Scaled down replica set web-1 from 3 to 2"}, said{-time.Second, "Scaled down replica set web-1 from 3 to 0"}, said{-time.Second, "Scaled down replica set web-1 from 1 to 0"}
	other := func(after time.Duration) said { return said{after, "Scaled up replica set web-2 from 0 to 1"} }
	for _, c := range []struct {
		name  string
		said  []said
		read  time.Duration
		want  string
		again time.Duration
	}{
		{"fewer are wanted", []said{made, less}, 6 * time.Second, "down", 0},
		{"another revision comes", []said{made, less, other(-time.Minute)}, 6 * time.Second, "up", 0},
		{"another revision had been there before", []said{made, less, other(-2 * time.Hour)}, 6 * time.Second, "down", 0},
		{"another revision came much later", []said{made, less, other(time.Minute)}, time.Hour, "down", 0},
		{"how it was made is gone", []said{less}, 6 * time.Second, "", 0},
		{"it was made smaller long before", []said{made, {-time.Minute, less.message}}, 6 * time.Second, "", 0},
		{"it was made smaller later", []said{made, {time.Minute, less.message}}, time.Hour, "", 0},
		{"it was not made smaller", []said{made, {-time.Second, "Scaled down replica set web-2 from 1 to 0"}}, 6 * time.Second, "", 0},
		{"none are wanted, or they are recreated", []said{made, none}, 6 * time.Second, "", 35 * time.Second},
		{"none are wanted", []said{made, none}, 35 * time.Second, "down", 0},
		{"they are recreated", []said{made, none, other(32 * time.Second)}, 33 * time.Second, "up", 0},
		{"it was the last, or it is recreated", []said{made, last}, 6 * time.Second, "", 7 * time.Second},
		{"it was the last", []said{made, last}, 7 * time.Second, "down", 0},
		{"it is recreated", []said{made, last, other(5 * time.Second)}, 6 * time.Second, "up", 0},
	} {
		var all []Scaling
		for _, s := range c.said {
			one, ok := ScalingIn(s.message, at.Add(s.at))
			if !ok {
				t.Fatal(s.message)
			}
			all = append(all, one)
		}
		r, again := Departure{Deleted: at, Gone: at.Add(5 * time.Second), Grace: 30 * time.Second}.Rescaled(all, "web-1", at.Add(c.read))
		got := ""
		switch {
		case r.Up != nil:
			got = "up"
		case r.Down != nil:
			got = "down"
		}
		if got != c.want || c.again == 0 != again.IsZero() || c.again != 0 && !again.Equal(at.Add(c.again)) {
			t.Errorf("%s: %q, again %v", c.name, got, again.Sub(at))
		}
	}
}

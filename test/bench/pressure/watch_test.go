package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A gap across a restart is no probe's delay, and what was before the part that is
// measured is none of it.
func TestLateness(t *testing.T) {
	from := time.Unix(1000, 0)
	text := "start\n"
	for _, ms := range []int64{-3000, -500, 700, 1700, 4000} {
		text += fmt.Sprintln(from.Add(time.Duration(ms) * time.Millisecond).UnixNano())
	}
	text += "start\n"
	for _, ms := range []int64{9000, 9900} {
		text += fmt.Sprintln(from.Add(time.Duration(ms) * time.Millisecond).UnixNano())
	}
	file := filepath.Join(t.TempDir(), "asked")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	late, err := lateness(file, from, from.Add(time.Minute))
	want := []time.Duration{200 * time.Millisecond, 0, 1300 * time.Millisecond, 0}
	if err != nil || !slices.Equal(late, want) {
		t.Errorf("%v, %v; want %v", late, err, want)
	}
}

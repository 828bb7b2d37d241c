package main

import "testing"

// Only what a start cannot do without keeps a node from starting.
func TestJudgeSpace(t *testing.T) {
	for _, c := range []struct {
		free  uint64
		first bool
		want  verdict
	}{
		{5 << 30, true, found},
		{400 << 20, true, degraded},
		{200 << 20, true, missing},
		{200 << 20, false, degraded},
		{40 << 20, false, degraded},
		{30 << 20, false, missing},
	} {
		if got := judgeSpace(c.free, "/d", c.first); got.Verdict != c.want {
			t.Errorf("%d bytes, first start %v: %+v, want %s", c.free, c.first, got, c.want)
		}
	}
	for free, want := range map[uint64]bool{10 << 30: true, 15<<30 - 1: true, 15 << 30: false, 90 << 30: false} {
		if got := tooFull(free, 100<<30, "/d"); (got != "") != want {
			t.Errorf("with %d of 100 GiB free: %q", free>>30, got)
		}
	}
	if got := judgeSpace(200<<20, "/d", true).Detail; got != "200 MiB free in /d; a start needs 256 MiB" {
		t.Error(got)
	}
}

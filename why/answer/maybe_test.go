package answer

import "testing"

func TestMayBe(t *testing.T) {
	for _, c := range []struct {
		causes []Cause
		want   string
	}{
		{nil, ""},
		{[]Cause{AppHang}, "It may be that the application hangs."},
		{[]Cause{AppHang, KilledByOther}, "It may be that the application hangs, or that another process killed the main process."},
		{[]Cause{AppHang, Preempted, AppOverloaded}, "It may be that the application hangs, that the cause is preempted, or that the application is overloaded."},
	} {
		if got := MayBe(c.causes); got != c.want {
			t.Errorf("%v: %q, want %q", c.causes, got, c.want)
		}
	}
}

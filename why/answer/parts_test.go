package answer

import "testing"

func TestParts(t *testing.T) {
	v := Verdict{}
	v.Say(Parts{What: "It hit its limit.", Because: []string{"a LimitRange sets it."}})
	w := v
	v.SayThen("So it was ended.")
	w.SayThen("Nobody noticed.")
	if v.Text != "It hit its limit; a LimitRange sets it. So it was ended." || w.Text != "It hit its limit; a LimitRange sets it. Nobody noticed." {
		t.Errorf("%q and %q", v.Text, w.Text)
	}
}

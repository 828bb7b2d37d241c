package corpus

import "testing"

// What people are told to do is short, each thing once, tagged as its command is, begins with a change wherever the
// cause is known and a change is, and says after a look what to do then: what is otherwise stands in a list, with why.
func TestSteps(t *testing.T) {
	for _, fault := range passOf(t).steps {
		t.Error(fault)
	}
}

package words

import (
	"os"
	"strings"
	"testing"
)

// What clients in many languages say of what they do not reach is read alike: each line of
// testdata/clients.txt begins with what it comes to, as excerpts have it, and where to.
func TestClients(t *testing.T) {
	raw, err := os.ReadFile("testdata/clients.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		means, said, _ := strings.Cut(line, " | ")
		kind, place, _ := strings.Cut(means, " ")
		want, ok := unreachedMeans[kind]
		what, where, said0 := Unreached(said)
		if !ok || !said0 || want != "" && what != want || where != place {
			t.Errorf("%s: %q at %q, want %s", said, what, where, means)
		}
	}
}

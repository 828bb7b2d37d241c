package words

import (
	"os"
	"strings"
	"testing"

	"whylet.dev/whylet/knowledge"
)

// meant are what words can mean, by the names that excerpts have for them.
var meant = map[string]*knowledge.Known{
	"permission": knowledge.Refused, "readonly": knowledge.ReadOnly, "port": knowledge.PortUsed, "nofile": knowledge.NoFile, "nospace": knowledge.NoSpace, "memory": knowledge.NoMemory,
	"credentials": knowledge.Credentials, "authority": knowledge.CertificateUnknown, "expired": knowledge.CertificateExpired, "module": knowledge.ModuleMissing,
	"setting": knowledge.SettingMissing, "pidfile": knowledge.LeftBehind, "newer": knowledge.NewerData, "locked": knowledge.Locked, "config": knowledge.BadConfig,
}

// unreachedMeans are the meanings of a connection that does not come about.
var unreachedMeans = map[string]string{
	"nodns": "its name is not resolved", "unknown": "there is no such name in DNS", "refused": "the connection is refused", "timeout": "nobody answers there", "unreached": "",
}

// lines gives each line of a file of testdata, with what its beginning says that it means.
func lines(t *testing.T, file string, tell func(means, said string)) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		means, said, _ := strings.Cut(line, " | ")
		tell(means, said)
	}
}

// What clients in many languages say of what they do not reach is read alike: each line of
// testdata/clients.txt begins with what it comes to, as excerpts have it, and where to.
func TestClients(t *testing.T) {
	lines(t, "clients.txt", func(means, said string) {
		kind, place, _ := strings.Cut(means, " ")
		want, ok := unreachedMeans[kind]
		what, where, said0 := Unreached(said)
		if !ok || !said0 || want != "" && what != want || where != place {
			t.Errorf("%s: %q at %q, want %s", said, what, where, means)
		}
	})
}

// failedMeans are what kinds of failures of another that was reached come to.
var failedMeans = map[string]string{
	"late": "it does not answer in time", "broken": "it breaks the connection off", "failed": "it answers with an error", "left": "none of those that it may ask is there",
}

// So is what they say of one that they did reach, and that failed them.
func TestFailedClients(t *testing.T) {
	lines(t, "failed.txt", func(means, said string) {
		kind, place, _ := strings.Cut(means, " ")
		if what, where, ok := FailedBy(said); !ok || what != failedMeans[kind] || where != place {
			t.Errorf("%s: %q at %q, want %s", said, what, where, means)
		}
	})
}

// The same fault is known by the words of many: each line of testdata/meanings.txt begins with what
// it means, as excerpts have it.
func TestMeanings(t *testing.T) {
	lines(t, "meanings.txt", func(kind, said string) {
		if what, where, ok := Unreached(said); ok || !meant[kind].In(said) {
			t.Errorf("%s: not %s; %s %s", said, kind, what, where)
		}
	})
}

// What sounds like one of them, and is none, is not taken for one.
func TestMeansNothing(t *testing.T) {
	lines(t, "none.txt", func(said, _ string) {
		for _, reads := range []func(string) (string, string, bool){Unreached, FailedBy} {
			if what, where, ok := reads(said); ok {
				t.Errorf("%s: %s at %s", said, what, where)
			}
		}
		for kind, phrase := range meant {
			if phrase.In(said) {
				t.Errorf("%s: %s", said, kind)
			}
		}
	})
}

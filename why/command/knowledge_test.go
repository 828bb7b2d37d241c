package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands about knowledge say what is known, what of a file holds, and where it does not.
func TestKnowledge(t *testing.T) {
	dir := t.TempDir()
	good := "- id: acme.no-shift\n  speaker: Acme\n  seen: {source: acme/shift.go}\n  match: ['no shift is planned for (?P<store>\\S+), ending']\n  samples: ['no shift is planned for store-7, ending']\n  means: nobody planned the shifts of {store}\n"
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	acme := write("acme.yaml", good)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte(strings.ReplaceAll(good, "{store}", "{shop}")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
		ok   bool
	}{
		{[]string{"knowledge", "list", "vault"}, "vault.sealed", true},
		{[]string{"knowledge", "list", "acme", "--knowledge", dir}, "acme.no-shift", true},
		{[]string{"knowledge", "show", "vault.sealed"}, "- id: vault.sealed", true},
		{[]string{"knowledge", "show", "acme.no-shift", "--knowledge", dir}, "# " + acme + ":1\n", true},
		{[]string{"knowledge", "show", "vault.none"}, "", false},
		{[]string{"knowledge", "test", acme}, "valid: 1 message, 1 sample", true},
		{[]string{"knowledge", "test", bad}, bad + ":6: acme.no-shift: no expression has a group named shop", false},
		{[]string{"knowledge", "list", "--knowledge", dir + "/none"}, "", false},
	} {
		var out, warned bytes.Buffer
		cmd := New(Env{Out: &out, Err: &warned})
		cmd.SetArgs(test.args)
		cmd.SetOut(&warned)
		cmd.SetErr(&warned)
		if err := cmd.Execute(); (err == nil) != test.ok || !strings.Contains(out.String(), test.want) {
			t.Errorf("%v: %v\n%s%s", test.args, err, out.String(), warned.String())
		}
	}
}

package why

import (
	"strings"
	"testing"
)

// How a hook ended and what it said last is told however long its command is.
func TestHookSaid(t *testing.T) {
	const command = "sh -c until /usr/lib/postgresql/15/bin/pg_isready -q; do sleep 0.2; done; psql -v ON_ERROR_STOP=1 -c 'create extension if not exists postgis'"
	got := hookSaid("command '" + command + "' exited with 3: ERROR:  extension \"postgis\" is not available")
	if !strings.HasSuffix(got, `extension if not exists postgis'' exited with 3: ERROR: extension "postgis" is not available`) || !strings.HasPrefix(got, "command 'sh -c until ") || len([]rune(got)) > 2*kept {
		t.Error(got)
	}
	long := strings.Repeat("waits ", 100)
	if got := hookSaid("command 'a' exited with 1: " + long + "\nno such file"); !strings.HasSuffix(got, "no such file") || !strings.HasPrefix(got, "command 'a' exited with 1: waits") || len([]rune(got)) > 2*kept {
		t.Error(got)
	}
	if got := hookSaid("not found"); got != "not found" {
		t.Error(got)
	}
}

package sense

import (
	"slices"
	"strings"
	"testing"
)

// A grep at the end of a probe's command is taken off, and nothing else is changed.
func TestUnfiltered(t *testing.T) {
	for script, want := range map[string]string{
		`redis-cli -h "127.0.0.1"  | grep -q PONG`:                             `redis-cli -h "127.0.0.1"`,
		`echo QUIT | nc -w 2 127.0.0.1 25 | grep "220 .* ESMTP Postfix"`:       `echo QUIT | nc -w 2 127.0.0.1 25`,
		`redis-cli ping | grep PONG || exit 1`:                                 `redis-cli ping`,
		`set -e; mysql -e "select 'a|b'" | grep -E '^(a|b)$' > /dev/null 2>&1`: `set -e; mysql -e "select 'a|b'"`,
		`rabbitmqctl list_queues | grep orders | grep -v dead`:                 `rabbitmqctl list_queues`,
		`ps ax | grep celery | grep -v grep`:                                   ``,
		`env | grep -q READY=1`:                                                ``,
		`cat /run/secrets/state | grep up`:                                     ``,
		`set | grep READY`:                                                     ``,
		`rabbitmqctl status | busybox grep -q uptime;`:                         `rabbitmqctl status`,
		`redis-cli ping`:                                                       ``,
		`if redis-cli ping | grep PONG; then exit 0; fi`:                       ``,
		`(redis-cli ping | grep PONG) && touch /tmp/ok`:                        ``,
		`redis-cli ping | grep PONG && rm -rf /data`:                           ``,
		`redis-cli ping | grep $(cat /tmp/x)`:                                  ``,
		`redis-cli ping | grep PONG > /data/file`:                              ``,
		`redis-cli ping | tee /tmp/x`:                                          ``,
		`| grep x`:                                                             ``,
		`echo "a | grep b"`:                                                    ``,
		`echo 'it | grep b`:                                                    ``,
		"redis-cli ping | grep PONG\nrm /data/x":                               ``,
	} {
		got, ok := unfiltered([]string{"/bin/sh", "-ec", script})
		if ok != (want != "") || ok && !slices.Equal(got, []string{"/bin/sh", "-ec", want}) {
			t.Errorf("%s: %q, %v", script, got, ok)
		}
	}
	for _, command := range [][]string{{"redis-cli", "ping"}, {"python3", "-c", "x | grep y"}, {"sh", "/x.sh | grep y"}, {"sh", "-e", "x | grep y"}, nil} {
		if got, ok := unfiltered(command); ok {
			t.Errorf("%q: %q", command, got)
		}
	}
}

// Whatever a script is, what is left is a beginning of it.
func FuzzUnfiltered(f *testing.F) {
	for _, seed := range []string{"a | grep b", "a || b | grep 'c", `a | grep "x|y" || exit 1`, "a \\| grep b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		got, ok := unfiltered([]string{"sh", "-c", script})
		if ok && (len(got) != 3 || got[2] == "" || !strings.HasPrefix(script, got[2]) || !strings.Contains(script[len(got[2]):], "grep")) {
			t.Fatalf("%q: %q", script, got)
		}
	})
}

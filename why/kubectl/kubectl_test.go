package kubectl

import "testing"

func TestQuote(t *testing.T) {
	for want, words := range map[string][]string{
		`sh -c 'celery inspect ping -d celery@$HOSTNAME'`: {"sh", "-c", "celery inspect ping -d celery@$HOSTNAME"},
		`echo 'it'\''s' ''`:    {"echo", "it's", ""},
		"/bin/check --port=80": {"/bin/check", "--port=80"},
	} {
		if got := Quote(words...); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

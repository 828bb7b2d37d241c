package cluster

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"whylet.dev/whylet/why/answer"
)

// Names of what is worked at are those that are no mere words, places, files, settings or errors.
func TestThings(t *testing.T) {
	for text, want := range map[string]string{
		"celery.exceptions.NotRegistered: 'shop.prices.quote'":       "shop.prices.quote",
		"no reply on subject orders.created within 2s":               "orders.created",
		`Error: Job "mail-4711" failed`:                              "mail-4711",
		"request 0f8fad5b-d9cb-469f-a165-70867728950e has no result": "0f8fad5b-d9cb-469f-a165-70867728950e",
		"NOT_FOUND - no queue 'orders.dead' in vhost '/'":            "orders.dead",
		"no message in topic order-events: timed out":                "order-events",
		"KeyError: 'customer'":                                       "",
		"KeyError: 'DATABASE_URL'":                                   "",
		"TemplateNotFound: 'index.html'":                             "",
		"Cannot find module '/srv/health.js'":                        "",
		"no answer of 'redis://redis:6379/0'":                        "",
		"raised 'redis.exceptions.ConnectionError'":                  "",
		"connect to 'cache-1:6379' failed":                           "",
		"the task is late":                                           "",
		"it's a queue, isn't it":                                     "",
	} {
		if got := strings.Join(Things([]string{text}), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// One works at a thing whose error has its whole name, and words of work, and is not what the other says.
func TestWorksAt(t *testing.T) {
	said := []string{"celery.exceptions.NotRegistered: 'shop.prices.quote' was thrown by the worker that had it"}
	for text, want := range map[string]string{
		"Received unregistered task of type 'shop.prices.quote'.":                             "shop.prices.quote",
		"no handler for shop.prices.quote.":                                                   "shop.prices.quote",
		"Received unregistered task of type 'shop.prices.quotes'.":                            "",
		"Received unregistered task of type 'old.shop.prices.quote'.":                         "",
		"shop.prices.quote is wrong":                                                          "",
		"ERROR NotRegistered: 'shop.prices.quote' was thrown by the worker that had it, task": "",
	} {
		a := answer.Answer{Complaints: []answer.Complaint{{Container: "worker", Text: text}}}
		if got, _ := WorksAt(&a, []string{"shop.prices.quote"}, said); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What one quotes of another's error is found to be of it, whatever stands around it and however it is
// quoted; what shares less with it never is.
func TestConfiguredFor(t *testing.T) {
	said := []string{"ERROR in shop: publish to queue invoices: NackError: 0 message(s) NACKed", "the queue is full", "job done"}
	if got := ThingsCalled(said); !slices.Equal(got, []string{"invoices"}) {
		t.Errorf("%q", got)
	}
	for value, want := range map[string]string{"invoices": "invoices", "amqp://queue/invoices": "", "invoices-late": ""} {
		pod := podWith("billing", "", "", 0)
		pod.Spec.Containers = []v1.Container{{Env: []v1.EnvVar{{Name: "QUEUE", Value: value}}}}
		if got := ConfiguredFor(&pod, []string{"invoices"}); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestRepeat(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{3,9}`)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(word, 12, 20).Draw(t, "words")
		text := strings.Join(all, " ")
		from := rapid.IntRange(0, 2).Draw(t, "from")
		between := rapid.SampledFrom([]string{" ", "  ", "\n"}).Draw(t, "between")
		quoted := `app: {\"error\": \"` + strings.Join(all[from:], between) + `\"} / more`
		if !repeat([]string{"other", quoted}, text) {
			t.Fatalf("%s of %s", quoted, text)
		}
		if short := strings.Join(all[:3], " "); repeat([]string{"APP: " + short + " END"}, short) != (len(short) >= echo) {
			t.Fatalf("%s", short)
		}
	})
}

// Only words that an own error of now has, too, are another's.
func TestRepeated(t *testing.T) {
	said := []string{"pq: cannot execute INSERT in a read-only transaction"}
	for name, test := range map[string]struct {
		c            answer.Complaint
		itself, same bool
	}{
		"the same":       {answer.Complaint{Text: "ERROR:  cannot execute INSERT in a read-only transaction"}, true, true},
		"long ago":       {answer.Complaint{Text: "ERROR:  cannot execute INSERT in a read-only transaction", Before: true}, false, false},
		"of a third one": {answer.Complaint{Text: "ERROR:  cannot execute INSERT in a read-only transaction", Another: true}, false, false},
		"something else": {answer.Complaint{Text: "ERROR:  cannot execute DELETE"}, false, false},
	} {
		_, itself, same := Repeated(said, &answer.Answer{Complaints: []answer.Complaint{test.c}})
		if itself != test.itself || same != test.same {
			t.Errorf("%s: %v %v", name, itself, same)
		}
	}
}

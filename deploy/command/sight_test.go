package command

import (
	"bytes"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// said is the log of an agent that sees these, as log/slog writes it.
func said(all ...sight) string {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	for _, s := range all {
		log.Info("sight", "name", s.name, "seen", s.seen, "what", s.what)
	}
	log.Info("the pods of the node are seen", "node", "a")
	return out.String()
}

var (
	blind = sight{"container runtime", false, `no socket at "the usual" places; x=1`}
	keen  = []sight{
		{"container runtime", true, "containerd 2.0"}, {"wait statuses", true, "yes"}, {"signals", true, "all"}, {"probe attempts", true, "each one"},
	}
)

func TestReadSights(t *testing.T) {
	want := append([]sight{blind}, keen...)
	got, err := readSights(strings.NewReader("something before\n" + said(want...)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSees(t *testing.T) {
	for want, all := range map[string][]sight{
		"agents see the API server alone, not the container runtime, the kernel, every probe attempt": nil,
		"agents see the container runtime, not the kernel, every probe attempt":                       keen[:1],
		"agents see the container runtime, the kernel, not every probe attempt":                       keen[:3],
		"agents see the kernel, every probe attempt, not the container runtime":                       append([]sight{blind}, keen[1:]...),
		"agents see the container runtime, the kernel, every probe attempt":                           keen,
	} {
		if got := sees(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}

// FuzzReadSights: a log is what a container wrote.
func FuzzReadSights(f *testing.F) {
	f.Add(said(blind))
	f.Add(`msg=sight name="\x" seen=true what="`)
	f.Fuzz(func(t *testing.T, log string) {
		all, _ := readSights(strings.NewReader(log))
		for _, s := range all {
			if again, err := readSights(strings.NewReader(said(s))); err == nil && len(again) == 1 && again[0].seen != s.seen {
				t.Errorf("%+v and %+v", s, again[0])
			}
		}
	})
}

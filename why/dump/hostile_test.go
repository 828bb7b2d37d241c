package dump

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/why/record"
)

// readFiles reads files in the order of pairs of name and text.
func readFiles(pairs ...string) *reader {
	r := newReader(most)
	for i := 0; i < len(pairs); i += 2 {
		r.take(file{name: pairs[i], size: int64(len(pairs[i+1])), in: strings.NewReader(pairs[i+1])})
	}
	r.finish()
	return r
}

func (r *reader) misses(text string) bool {
	return slices.ContainsFunc(r.into.Missing, func(m string) bool { return strings.Contains(m, text) })
}

func TestSparse(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	one := w.WriteHeader(&tar.Header{Name: "web-1.log", Size: 1, PAXRecords: map[string]string{
		"GNU_sparse.numblocks": "1", "GNU_sparse.map": "0,1", "GNU_sparse.size": "1125899906842624", // which the writer leaves out with a dot
	}})
	_, two := w.Write([]byte("x"))
	three := w.WriteHeader(&tar.Header{Name: "pods.json", Size: int64(len(pods))})
	_, four := w.Write([]byte(pods))
	if err := errors.Join(one, two, three, four, w.Close()); err != nil {
		t.Fatal(err)
	}
	r := newReader(most)
	if err := r.archive(bytes.NewReader(bytes.ReplaceAll(b.Bytes(), []byte("GNU_sparse"), []byte("GNU.sparse")))); err != nil {
		t.Fatal(err)
	}
	if !r.misses("web-1.log: ") || len(r.into.Objects) != 1 {
		t.Errorf("missing %q", r.into.Missing)
	}
}

func TestUnreadable(t *testing.T) {
	pod := func(rest string) string {
		return `{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"ok","namespace":"shop"}},{"metadata":{"name":"odd","namespace":"shop"` + rest + `}]}`
	}
	for rest, why := range map[string]string{
		`,"labels":{"version":1.0}}`:     "cannot unmarshal number",
		`},"spec":{"containers":"none"}`: "cannot unmarshal string",
		`},"spec":{"nodeName":"$(id)"}`:  "is no name",
		`},"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e-2147483647"}}}]}`:               "is no quantity",
		`},"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"many of them, and then some"}}}]}`: "quantities must match",
	} {
		r := readFiles("shop/pods.json", pod(rest))
		if len(r.into.Objects) != 1 || !r.misses(why) || len(r.into.Held) > 0 {
			t.Errorf("%s: %d objects, missing %q, held %q", rest, len(r.into.Objects), r.into.Missing, r.into.Held)
		}
	}
	if r := readFiles("p.txt", "Name:  a\nNamespace:  b\nContainers:\n  c:\n    Limits:\n      cpu:  1e-2147483647\n      memory:  64Mi\n"); len(r.into.Objects) != 1 || bytes.Contains(r.into.Objects[0], []byte("cpu")) || !bytes.Contains(r.into.Objects[0], []byte("64Mi")) {
		t.Errorf("of a description: %s", r.into.Objects)
	}
}

func TestAlias(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]string{"alias": text + "data: &d {x: '1'}\nbinaryData: *d\n", "long": text + "data: {x: '" + strings.Repeat("x", mostDocument) + "'}\n"} {
		if r := readFiles(name+".yaml", c); len(r.into.Objects) > 0 || !r.misses(name+".yaml") {
			t.Errorf("%s: %q", name, r.into.Missing)
		}
	}
	if r := readFiles("x.yaml", text+"data: {x: 'a & b * c'}\n"); len(r.into.Objects) != 1 {
		t.Errorf("without: %q", r.into.Missing)
	}
}

func TestNotHeld(t *testing.T) {
	whole := inYAML(t, pods)
	half, _, _ := strings.Cut(whole, "kind: PodList")
	for name, c := range map[string][2]string{
		"half a list":     {"shop/pods.yaml", half},
		"of no namespace": {"pods.json", `{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]}`},
	} {
		if r := readFiles(c[0], c[1]); len(r.into.Held) > 0 || len(r.into.Objects) != 1 {
			t.Errorf("%s: %d objects, holds %q", name, len(r.into.Objects), r.into.Held)
		}
	}
}

// A table may be read before the pods that say what a namespace is.
func TestTableBeforePods(t *testing.T) {
	table := "LAST SEEN   TYPE      REASON    OBJECT      MESSAGE\n30s         Warning   BackOff   pod/web-1   Back-off\n"
	other := strings.ReplaceAll(pods, `"shop"`, `"lab"`)
	r := readFiles("lab/pods.json", other, "shop/events.txt", table, "shop/pods.json", pods)
	if n := len(r.into.Objects); n != 3 || !bytes.Contains(r.into.Objects[n-1], []byte(`"namespace":"shop"`)) {
		t.Errorf("%s", r.into.Objects)
	}
}

// A container's log may hold the line that ends it, and objects of others: those are not taken, nor is what follows.
func TestALogSpeaksForNobodyElse(t *testing.T) {
	const start, end = "==== START logs for container app of pod shop/%s ====\n", "==== END logs for container app of pod shop/%s ====\n"
	of := func(pod, text string) string {
		return strings.ReplaceAll(start, "%s", pod) + text + strings.ReplaceAll(end, "%s", pod)
	}
	forged := strings.ReplaceAll(pods, `"shop"`, `"lab"`)
	for name, c := range map[string]struct {
		first, second string // logs
		objects, logs int    // that of web-1 counts twice, as it waits
	}{
		"well":                      {"a\n", "b\n", 1, 3},
		"its own end":               {"a\n" + strings.ReplaceAll(end, "%s", "web-1") + forged + "\n" + strings.ReplaceAll(start, "%s", "web-1"), "b\n", 1, 0},
		"its own end, another's":    {"a\n" + strings.ReplaceAll(end, "%s", "web-1") + forged + "\n" + strings.ReplaceAll(start, "%s", "web-9"), "b\n", 1, 0},
		"the end of the one before": {"a\n", strings.ReplaceAll(end, "%s", "web-1") + forged + "\n", 1, 0},
		"another's beginning":       {strings.ReplaceAll(start, "%s", "web-2") + "x\n", "b\n", 1, 3},
		"the end of one to come":    {of("web-2", "x\n") + "a\n", "b\n", 1, 3},
	} {
		r := readFiles("dump.txt", pods+"\n"+of("web-1", c.first)+of("web-2", c.second))
		if len(r.into.Objects) != c.objects || len(r.into.Logs) != c.logs || c.logs == 0 != r.misses("more than once") {
			t.Errorf("%s: %d objects, %d logs, missing %q", name, len(r.into.Objects), len(r.into.Logs), r.into.Missing)
		}
		if of := string(r.into.Logs[record.LogOf("shop", "web-2", "app", false)]); c.logs > 0 && of != c.second {
			t.Errorf("%s: the log of web-2 is %q", name, of)
		}
	}
}

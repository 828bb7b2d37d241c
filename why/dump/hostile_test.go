package dump

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
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

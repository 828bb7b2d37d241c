package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const passed = `{"LeafNodeType":"It","LeafNodeText":"serves","ContainerHierarchyTexts":["[sig-node] Pods"],"State":"passed","NumAttempts":1}`
	cases := map[string]struct {
		specs, line string
		fails       bool
	}{
		"all passed": {specs: passed, line: "1 passed, 0 failed"},
		"left out":   {specs: passed + `,{"LeafNodeType":"It","State":"skipped"}`, line: "1 passed, 0 failed, 0 skipped"},
		"skipped itself": {
			specs: passed + `,{"LeafNodeType":"It","LeafNodeText":"a","State":"skipped","NumAttempts":1,"Failure":{"Message":"\nno GPU\nmore"}}`,
			line:  "skipped itself: a: no GPU\n",
		},
		"failed": {
			specs: passed + `,{"LeafNodeType":"It","ContainerHierarchyTexts":["b"],"LeafNodeText":"c","State":"failed","NumAttempts":1,"Failure":{"Message":"no"}}`,
			line:  "failed: b c: no\n", fails: true,
		},
		"panicked": {specs: passed + `,{"LeafNodeType":"BeforeSuite","State":"panicked"}`, line: "1 failed", fails: true},
		"none":     {line: "0 passed", fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := parse([]byte(`[{"SpecReports":[` + c.specs + `]}]`))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := r.judge(&out); (err != nil) != c.fails {
				t.Errorf("the verdict is %v", err)
			}
			if !strings.Contains(out.String(), c.line) {
				t.Errorf("%q does not say %q", out.String(), c.line)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"SpecReports":[{"State":"failed","NumAttempts":1}]}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := parse(raw); err == nil {
			_ = r.judge(&strings.Builder{})
		}
	})
}

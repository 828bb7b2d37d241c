package whylet_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// documents are the pages whose words are held to the code.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no docs/*.md:", err)
	}
	pages := map[string]string{}
	for _, file := range append(files, "README.md", "CONTRIBUTING.md") {
		pages[file] = read(t, file)
	}
	return pages
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Every cause has its line.
func TestCausesAreDocumented(t *testing.T) {
	page := read(t, "docs/causes.md")
	for _, c := range answer.Causes {
		if !strings.Contains(page, "`"+string(c)+"`") {
			t.Errorf("docs/causes.md does not explain %s", c)
		}
	}
}

// Every direct requirement has its reason.
func TestDependenciesAreDocumented(t *testing.T) {
	page := read(t, "docs/dependencies.md")
	direct, _, _ := strings.Cut(read(t, "go.mod"), "\n)")
	for _, match := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(direct, -1) {
		name := regexp.MustCompile(`/v\d+$`).ReplaceAllString(match[1], "")
		if !strings.Contains(page, name) && !strings.Contains(page, filepath.Base(name)) {
			t.Errorf("docs/dependencies.md does not say why %s", match[1])
		}
	}
}

// Every `make TARGET` that a page tells the reader to type is there.
func TestMakeTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	command := regexp.MustCompile("(?m)(?:^    |`)make ([a-z0-9-]+)")
	for file, text := range documents(t) {
		for _, match := range command.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s: there is no make %s", file, match[1])
			}
		}
	}
}

// Every link to a file leads to one.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for file, text := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// Every package's doc.go names every file of its package; a pattern such as
// rule_*.go names many.
func TestDocNamesEveryFile(t *testing.T) {
	docs, err := filepath.Glob("doc.go")
	for pattern := "*/doc.go"; strings.Count(pattern, "/") < 6; pattern = "*/" + pattern {
		var found []string
		if found, err = filepath.Glob(pattern); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	if len(docs) < 20 {
		t.Fatalf("only %d of doc.go: %v", len(docs), err)
	}
	name := regexp.MustCompile(`[\w*]+\.go`)
	for _, doc := range docs {
		named := name.FindAllString(read(t, doc), -1)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(doc), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 2 {
			continue // there is no other place to look at
		}
		for _, file := range files {
			base := filepath.Base(file)
			if base == "doc.go" || strings.HasSuffix(base, "_test.go") {
				continue
			}
			if !slices.ContainsFunc(named, func(pattern string) bool { ok, _ := filepath.Match(pattern, base); return ok }) {
				t.Errorf("%s does not name %s", doc, base)
			}
		}
	}
}

// kubectlFlags are those that every kubectl command has (k8s.io/cli-runtime, ConfigFlags).
var kubectlFlags = []string{"as", "as-group", "as-uid", "cluster", "context", "kubeconfig", "namespace", "request-timeout", "server", "token", "user"}

// Every command and flag of ours that a page shows is declared somewhere.
func TestCommandsExist(t *testing.T) {
	var declared strings.Builder
	for _, root := range []string{"cmd", "cluster", "why", "journal", "mesh", "lint", "web", "observe", "test", "tools"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				declared.WriteString(read(t, path))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	code := declared.String()
	line := regexp.MustCompile("(?m)(?:^    |`|^\\$ )(?:bin/)?(?:whylet|whylet-observe|kubectl[ -]why)( [^`\\n]*)?")
	flag := regexp.MustCompile(`(?:^| )--([a-z][a-z-]+)`)
	word := regexp.MustCompile(`^ ([a-z][a-z-]+)(?: |$)`)
	for file, text := range documents(t) {
		for _, match := range line.FindAllStringSubmatch(text, -1) {
			said, _, _ := strings.Cut(match[1], " #")
			said, _, _ = strings.Cut(said, " | ")
			for _, f := range flag.FindAllStringSubmatch(said, -1) {
				if !strings.Contains(code, `"`+f[1]+`"`) && !slices.Contains(kubectlFlags, f[1]) {
					t.Errorf("%s: %q: nobody declares --%s", file, strings.TrimSpace(match[0]), f[1])
				}
			}
			if w := word.FindStringSubmatch(said); w != nil && strings.Contains(match[0], "whylet ") && !regexp.MustCompile(`(Use:|Subcommand =)\s+"`+w[1]+`\b`).MatchString(code) {
				t.Errorf("%s: %q: there is no command %s", file, strings.TrimSpace(match[0]), w[1])
			}
		}
	}
}

package whylet_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

var rewrite = flag.Bool("rewrite", false, "write docs/facts.md from the code; read the diff before you commit it")

const factsHead = `# The facts

What a journal holds, kind by kind. This page is made from the comments in package ` + "`fact`" + ` by
` + "`go test . -run TestFactsPage -rewrite`" + `; the examples, one line of the wire form each, are the shortest among the
recorded histories of the tests, or invented where none of them has the kind (pod ns/pod).

Every fact has an envelope: ` + "`id`" + ` (larger for later ones), ` + "`at`" + ` (when it happened; absent where nobody
observed that), ` + "`seen`" + ` (when the agent learnt of it), ` + "`mono`" + ` (ns since boot at that time), ` + "`boot`" + ` (the kernel's
boot id), ` + "`pod`" + ` (namespace, name, uid; absent for a fact about the node), ` + "`ctr`" + ` and ` + "`try`" + ` (the container
and its restart count), ` + "`because`" + ` (the ids of the facts that it rests on, never empty for a decision),
` + "`kind`" + ` and ` + "`body`" + `. Times are RFC 3339 in UTC, durations are ns, quantities are Kubernetes' own.
Zero values are left out where the table says "may be absent". A reader that meets a kind it does
not know keeps it as it is.

*Observed* means that the world told us; *decided* that package ` + "`health`" + ` concluded it from other facts.
`

// docs/facts.md says of every kind what the code says.
func TestFactsPage(t *testing.T) {
	page := factsPage(t)
	if *rewrite {
		if err := os.WriteFile("docs/facts.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Who writes a kind moves with the code, and another history may have a shorter
	// example: no reader relies on either.
	moving := regexp.MustCompile("(?m)^(Written by .*|\\{.*\\})\n")
	held := read(t, "docs/facts.md")
	if moving.ReplaceAllString(held, "") != moving.ReplaceAllString(page, "") {
		t.Error("docs/facts.md is not what the code says: go test . -run TestFactsPage -rewrite")
	}
	for _, line := range regexp.MustCompile(`(?m)^\{.*\}$`).FindAllString(held, -1) {
		var f fact.Fact
		if err := f.UnmarshalJSON([]byte(line)); err != nil {
			t.Errorf("the example %s: %v", line, err)
		}
	}
}

func factsPage(t *testing.T) string {
	types, values := factTypes(t)
	written, examples := writers(t), examples(t)
	kinds := map[fact.Kind]reflect.Type{}
	for _, k := range fact.Kinds() {
		kinds[k] = fact.TypeOf(k)
	}
	named := map[string]bool{}
	page := factsHead + "\n## The kinds\n"
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		name := kinds[k].Name()
		page += fmt.Sprintf("\n### %s\n\n%s\n\n%s.", k, comment(types[name].Doc), how(kinds[k]))
		if who := written[name]; len(who) > 0 {
			page += "\n\nWritten by " + strings.Join(slices.Sorted(maps.Keys(who)), ", ") + "."
		}
		page += "\n" + fieldTable(types[name], named)
		if line := cmp.Or(examples[k], invented(t, k)); line != "" {
			page += "\n```json\n" + line + "\n```\n"
		}
	}
	page += "\n## What they are made of\n"
	for done := map[string]bool{}; ; {
		var next []string
		for name := range named {
			if types[name] != nil && !done[name] && kinds[fact.Kind(name)] == nil {
				next = append(next, name)
			}
		}
		if len(next) == 0 {
			break
		}
		for _, name := range slices.Sorted(slices.Values(next)) {
			done[name] = true
			page += fmt.Sprintf("\n### %s\n\n%s\n%s%s", name, comment(types[name].Doc), values[name], fieldTable(types[name], named))
		}
	}
	return page
}

func how(t reflect.Type) string {
	decided, observed := t.Implements(reflect.TypeFor[fact.Decided]()), t.Implements(reflect.TypeFor[fact.Observed]())
	switch {
	case t == reflect.TypeFor[fact.Act]():
		return "Observed, or concluded from what was observed"
	case decided && observed:
		return "Decided where it names the room that it was decided by, and observed otherwise"
	case decided:
		return "Decided"
	}
	return "Observed"
}

// factTypes are the types of package fact with their comments, and the values that
// those have which are words.
func factTypes(t *testing.T) (types map[string]*doc.Type, values map[string]string) {
	set := token.NewFileSet()
	var files []*ast.File
	names, err := filepath.Glob("fact/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(set, files, module+"fact", doc.PreserveAST)
	if err != nil {
		t.Fatal(err)
	}
	types, values = map[string]*doc.Type{}, map[string]string{}
	for _, typ := range pkg.Types {
		types[typ.Name] = typ
		for _, block := range typ.Consts {
			for _, spec := range block.Decl.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Values) == 0 {
					continue
				}
				if word, ok := v.Values[0].(*ast.BasicLit); ok {
					values[typ.Name] += strings.TrimRight(fmt.Sprintf("\n- `%s` %s", word.Value, comment(v.Comment.Text()+v.Doc.Text())), " ")
				}
			}
		}
		if values[typ.Name] != "" {
			values[typ.Name] += "\n"
		}
	}
	return types, values
}

// fieldTable lists the fields of a struct, and notes the types that it names.
func fieldTable(t *doc.Type, named map[string]bool) string {
	spec, ok := t.Decl.Specs[0].(*ast.TypeSpec)
	if !ok {
		return ""
	}
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return ""
	}
	rows := ""
	for _, f := range body.Fields.List {
		if f.Tag == nil {
			continue
		}
		key, absent, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		about := comment(f.Doc.Text() + f.Comment.Text())
		if absent != "" {
			about = strings.TrimSpace(about + " (may be absent)")
		}
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", key, typeWords(f.Type, named), strings.ReplaceAll(about, "|", "\\|"))
	}
	if rows == "" {
		return ""
	}
	return "\n| field | type | |\n|---|---|---|\n" + rows
}

func typeWords(e ast.Expr, named map[string]bool) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeWords(e.X, named)
	case *ast.ArrayType:
		return "list of " + typeWords(e.Elt, named)
	case *ast.MapType:
		return "map of " + typeWords(e.Key, named) + " to " + typeWords(e.Value, named)
	case *ast.SelectorExpr:
		name := fmt.Sprint(e.X) + "." + e.Sel.Name
		return cmp.Or(map[string]string{"time.Time": "time", "time.Duration": "duration, ns", "types.UID": "string", "json.RawMessage": "JSON"}[name], name)
	case *ast.Ident:
		if ast.IsExported(e.Name) {
			named[e.Name] = true
		}
		return cmp.Or(map[string]string{"ID": "fact id", "int64": "number", "int32": "number", "int": "number", "uint32": "number", "bool": "true or false"}[e.Name], e.Name)
	}
	return ""
}

// comment is a doc comment as one paragraph of Markdown.
func comment(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return regexp.MustCompile(`\[([A-Z][A-Za-z.]*)\]`).ReplaceAllString(text, "`$1`")
}

// writers finds which rooms make a body of each type.
func writers(t *testing.T) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "bin" || path == "test" || path == "why" || path == "web" || path == "fact" || path == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "fact" && len(lit.Elts)+len(sel.Sel.Name) > 0 {
				if found[sel.Sel.Name] == nil {
					found[sel.Sel.Name] = map[string]bool{}
				}
				found[sel.Sel.Name]["`"+filepath.ToSlash(filepath.Dir(path))+"`"] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// longExample bounds an example.
const longExample = 600

// examples are the shortest of each kind among recorded histories.
func examples(t *testing.T) map[fact.Kind]string {
	shortest := map[fact.Kind]string{}
	files, err := filepath.Glob("why/serve/testdata/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded histories:", err)
	}
	for _, name := range files {
		source, err := journal.OpenFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for f, err := range source.Query(journal.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			line, err := f.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if was := shortest[f.Body.Kind()]; len(line) <= longExample && (was == "" || len(line) < len(was) || len(line) == len(was) && string(line) < was) {
				shortest[f.Body.Kind()] = string(line)
			}
		}
	}
	return shortest
}

// invented is an example of a kind that no recorded history has.
func invented(t *testing.T, k fact.Kind) string {
	if k == (fact.Act{}).Kind() {
		return ""
	}
	body := reflect.New(fact.TypeOf(k)).Elem()
	fill(body, 3)
	at := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	f := fact.Fact{ID: 7, At: at, Seen: at, Pod: fact.Pod{Namespace: "ns", Name: "pod", UID: "u"}, Because: []fact.ID{6}}
	f.Body, _ = body.Interface().(fact.Body)
	line, err := f.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if len(line) > 2*longExample {
		return ""
	}
	return string(line)
}

// fill sets what is ours of a value, so many levels deep.
func fill(v reflect.Value, depth int) {
	switch {
	case depth == 0 || v.Kind() == reflect.Struct && !strings.HasPrefix(v.Type().PkgPath(), module) && v.Type() != reflect.TypeFor[time.Time]():
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)))
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Second))
	case v.Kind() == reflect.String:
		v.SetString("text")
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() == module+"fact":
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth-1)
			}
		}
	}
}

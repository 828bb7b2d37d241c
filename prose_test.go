package whylet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writes are the packages that turn answers into what people read; all others treat prose as opaque.
var writes = []string{module + "why/answer", module + "why/kubectl", module + "web"}

// proseFields are the fields of answers that hold English. What logs say is data: neither Complaint.Text nor Reach.Said
// is among them.
var proseFields = map[string][]string{
	"Verdict": {"Text", "Parts", "Missing"}, "Parts": {"Subject", "What", "Because", "Then"}, "Hop": {"By", "Text"},
	"Link": {"Text"}, "Note": {"Text"}, "Fix": {"Text", "Command"}, "Symptom": {"Text"}, "Reach": {"Text"},
	"Complaint": {"Means"}, "Common": {"Text"}, "Changed": {"Text"},
}

// readsProse are the functions that may look at prose, each with why.
var readsProse = map[string]string{
	"why/cluster.Typed":       agentsOfBefore,
	"why/cluster.typeVerdict": agentsOfBefore,
	"why/cluster.typeSteps":   agentsOfBefore,
	"why/cluster.ownOfBefore": agentsOfBefore,
}

const agentsOfBefore = "why/cluster/untyped.go types what agents of before have in their text alone (docs/skew.md)"

// goPackage is a package as `go list` tells of it.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// TestNobodyReadsProse keeps English out of decisions: outside what writes answers, their prose is only ever
// copied into other prose, never compared, searched, cut or matched.
func TestNobodyReadsProse(t *testing.T) {
	all := listPackages(t)
	files := token.NewFileSet()
	exports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if p, ok := all[path]; ok && p.Export != "" {
			return os.Open(p.Export)
		}
		return nil, fmt.Errorf("no export data of %s", path)
	})
	used := map[string]bool{}
	for path, p := range all {
		if !strings.HasPrefix(path, module) || below(path, append(writes, module+"test")) || !slices.Contains(p.Imports, module+"why/answer") {
			continue
		}
		for _, r := range proseReads(t, files, exports, p) {
			if readsProse[r.where] == "" {
				t.Errorf("%s: %s reads %s", files.Position(r.pos), r.where, r.field)
			}
			used[r.where] = true
		}
	}
	for where := range readsProse {
		if !used[where] {
			t.Errorf("%s reads no prose any more: take it out of readsProse", where)
		}
	}
}

// listPackages lists this module and all that it is built of, with the export data of what was compiled.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-tags", "no_btrfs", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./why/...", "./web/...", "./front/...")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	all := map[string]goPackage{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// proseRead is a place that reads a field with prose.
type proseRead struct {
	where, field string
	pos          token.Pos
}

// proseReads finds in a package what reads prose other than to copy it into prose.
func proseReads(t *testing.T, files *token.FileSet, exports types.Importer, p goPackage) (found []proseRead) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: exports}).Check(p.ImportPath, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	for _, f := range parsed {
		for _, d := range f.Decls {
			where := strings.TrimPrefix(p.ImportPath, module) + "." + declared(d)
			copies := map[ast.Node]bool{}
			ast.Inspect(d, func(n ast.Node) bool {
				markCopies(info, n, copies)
				if sel, ok := n.(*ast.SelectorExpr); ok && !copies[n] {
					if field := proseField(info, sel); field != "" {
						found = append(found, proseRead{where, field, sel.Pos()})
					}
				}
				return true
			})
		}
	}
	return found
}

func declared(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return "var"
}

// proseField names the field of an answer's type that a selector reads, where that holds prose.
func proseField(info *types.Info, sel *ast.SelectorExpr) string {
	s := info.Selections[sel]
	if s == nil || s.Kind() != types.FieldVal || s.Obj().Pkg() == nil || s.Obj().Pkg().Path() != module+"why/answer" {
		return ""
	}
	of := s.Recv()
	for _, i := range s.Index() { // through what is embedded
		if p, ok := of.Underlying().(*types.Pointer); ok {
			of = p.Elem()
		}
		st, ok := of.Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		if st.Field(i) == s.Obj() {
			break
		}
		of = st.Field(i).Type()
	}
	if p, ok := of.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	named, ok := of.(*types.Named)
	if !ok || !slices.Contains(proseFields[named.Obj().Name()], s.Obj().Name()) {
		return ""
	}
	return named.Obj().Name() + "." + s.Obj().Name()
}

// writesProse are the fields of answers and findings into which prose is copied.
var writesProse = []string{"Text", "By", "What", "Because", "Then", "Subject", "Command", "Means", "Parts", "text", "because", "then", "Shown"}

// wordsFinding reports whether an expression is a field of a finding that words it.
func wordsFinding(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"text", "because", "then"}, sel.Sel.Name)
}

// markCopies marks what a node only writes, or copies into prose.
func markCopies(info *types.Info, n ast.Node, copies map[ast.Node]bool) {
	copied := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if n != nil {
				copies[n] = true
			}
			return true
		})
	}
	isProse := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && proseField(info, sel) != ""
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if isProse(to) {
				copied(to)
			}
			if isProse(to) || wordsFinding(to) {
				copied(n.Rhs[min(i, len(n.Rhs)-1)])
			}
		}
	case *ast.BinaryExpr: // whether there is any is no reading
		for _, e := range []ast.Expr{n.X, n.Y} {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Value == `""` {
				copied(n)
			}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok {
			if of := info.Uses[f.Sel]; of != nil && of.Pkg() != nil && (of.Pkg().Path() == "fmt" || below(of.Pkg().Path(), writes)) {
				for _, arg := range n.Args {
					copied(arg)
				}
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains(writesProse, key.Name) {
				copied(kv.Value)
			}
		}
	}
}

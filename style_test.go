package whylet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// What is logged can be searched for: an error is under one key, and a message begins
// small, unless with a name.
func TestLogsAreOfOneStyle(t *testing.T) {
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", ".git", "tools", "test"}, path):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !logs(call) {
				return true
			}
			for i, arg := range call.Args {
				text, isText := literal(arg)
				switch {
				case isText && i > 0 && text == "err":
					t.Errorf("%s: the key of an error is error", set.Position(arg.Pos()))
				case isText && i == 0 && beginsLarge(text):
					t.Errorf("%s: the message begins with a capital: %q", set.Position(arg.Pos()), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// logs says whether a call is one of a slog.Logger that is called log, or Log.
func logs(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Error", "Warn", "Info", "Debug"}, sel.Sel.Name) {
		return false
	}
	switch on := sel.X.(type) {
	case *ast.Ident:
		return strings.EqualFold(on.Name, "log") || on.Name == "slog"
	case *ast.SelectorExpr:
		return strings.EqualFold(on.Sel.Name, "log")
	}
	return false
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// beginsLarge is false for names: API, OOM, CoreDNS.
func beginsLarge(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	first := []rune(word + "x")[0]
	return unicode.IsUpper(first) && !strings.ContainsFunc(strings.TrimPrefix(word, string(first)), unicode.IsUpper)
}

// What people copy into a shell is written by package shell, which quotes what comes from outside: no command is put
// together by hand.
func TestCommandsAreQuoted(t *testing.T) {
	set := token.NewFileSet()
	byHand := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			return e.Op == token.ADD
		case *ast.CallExpr:
			name, _ := e.Fun.(*ast.SelectorExpr)
			return name != nil && name.Sel.Name == "Sprintf"
		}
		return false
	}
	report := func(e ast.Expr) {
		if byHand(e) {
			t.Errorf("%s: write this command by kubectl.Command or shell.Linef", set.Position(e.Pos()))
		}
	}
	for _, dir := range []string{"why", "why/cluster", "why/ask", "why/common", "why/kubectl", "why/suggest", "why/answer", "why/command"} {
		for _, path := range goFiles(t, dir) {
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Command" {
						report(n.Value)
					}
				case *ast.CallExpr:
					name, ok := n.Fun.(*ast.SelectorExpr)
					switch {
					case !ok || len(n.Args) == 0:
					case name.Sel.Name == "Line", strings.EqualFold(name.Sel.Name, "Inspect"):
						report(n.Args[len(n.Args)-1])
					}
				}
				return true
			})
		}
	}
}

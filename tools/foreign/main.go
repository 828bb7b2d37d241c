// Command foreign checks that packages, and all that they import, build on systems that
// this is not: foreign OS-ARCH... -- PACKAGE...
//
// It reads their types from source and compiles nothing, which takes seconds where go vet
// takes minutes: that compiles client-go for each system.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	split := slices.Index(os.Args, "--")
	if split < 2 {
		fmt.Fprintln(os.Stderr, "usage: foreign OS-ARCH... -- PACKAGE...")
		os.Exit(2)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed := false
	for _, target := range os.Args[1:split] {
		system, arch, _ := strings.Cut(target, "-")
		all, err := packages.Load(&packages.Config{
			Dir:       root,
			Mode:      packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
			Env:       append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
			ParseFile: bodies{root}.parse,
		}, os.Args[split+1:]...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		packages.Visit(all, nil, func(p *packages.Package) {
			for _, err := range p.Errors {
				if strings.Contains(err.Msg, " and not used") && !strings.HasPrefix(err.Pos, root) {
					continue // it is used in what parse left out
				}
				fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
				failed = true
			}
		})
	}
	if failed {
		os.Exit(1)
	}
}

// bodies parses files and leaves out what functions outside of root do: only their types
// matter here.
type bodies struct{ root string }

func (b bodies) parse(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if file != nil && !strings.HasPrefix(name, b.root) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Type.TypeParams == nil && f.Name.Name != "init" {
				f.Body = nil
			}
		}
	}
	return file, err
}

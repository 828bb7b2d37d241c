// Command bundle makes the page's one script and one style sheet, in web/dist, of what
// is in web/app. `make web` runs it; a test says when it was forgotten.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle DIR, the directory of package web")
		os.Exit(2)
	}
	files, err := bundle(os.Args[1])
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(os.Args[1], "dist", name), content, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bundle gives the files of dist by their names.
func bundle(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	preact := filepath.Join(dir, "app", "vendor", "preact")
	r := api.Build(api.BuildOptions{
		AbsWorkingDir: dir,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "app/main.tsx", OutputPath: "app"},
			{InputPath: "app/page.css", OutputPath: "page"},
		},
		Outdir: "dist",
		Bundle: true, MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true,
		Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetASCII,
		LegalComments: api.LegalCommentsNone,
		TsconfigRaw:   "{}", // that of web/app is for the type checker
		JSX:           api.JSXTransform, JSXFactory: "h", JSXFragment: "Fragment",
		Alias: map[string]string{
			"preact":       filepath.Join(preact, "src", "index.js"),
			"preact/hooks": filepath.Join(preact, "hooks", "src", "index.js"),
		},
		// Libraries' licences have to go with what is made of them.
		Banner: map[string]string{"js": "/* Whylet; with Preact, (c) 2015-present Jason Miller, MIT licence */"},
	})
	for _, m := range append(r.Errors, r.Warnings...) {
		where := ""
		if m.Location != nil {
			where = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		err = errors.Join(err, errors.New(where+m.Text))
	}
	files := map[string][]byte{}
	for _, f := range r.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return files, err
}

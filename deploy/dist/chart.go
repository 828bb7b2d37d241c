package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const chartFolder = "deploy/chart/whylet"

// chart writes the chart as helm package does, with this version in it.
func (r *release) chart() error {
	var files []packed
	err := filepath.WalkDir(chartFolder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(chartFolder), file)
		if err != nil {
			return err
		}
		if filepath.Base(file) == "Chart.yaml" {
			content = []byte(strings.NewReplacer("version: 0.0.0\n", "version: "+r.number()+"\n", "appVersion: devel\n", "appVersion: "+r.version+"\n").Replace(string(content)))
		}
		files = append(files, packed{name: filepath.ToSlash(name), content: content, mode: 0o644})
		return nil
	})
	if err != nil {
		return err
	}
	return r.tarball("whylet-"+r.number()+".tgz", files...)
}

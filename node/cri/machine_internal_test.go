package cri

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHugePagesNeedTheirController(t *testing.T) {
	for name, c := range map[string]struct {
		v2   bool
		file string // below the mount of cgroups
		text string
		want bool
	}{
		"v1":            {file: "hugetlb/tasks", want: true},
		"v1, unmounted": {file: "memory/tasks"},
		"v2":            {v2: true, file: "cgroup.controllers", text: "cpuset cpu io memory hugetlb pids\n", want: true},
		"v2, off":       {v2: true, file: "cgroup.controllers", text: "cpuset cpu io memory pids\n"},
	} {
		root := t.TempDir()
		path := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := hasHugetlb(c.v2, root); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

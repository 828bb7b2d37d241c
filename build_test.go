package whylet_test

import (
	"os/exec"
	"strings"
	"testing"
)

// compiled lists the packages that a build compiles, each with the files that the
// compiler is given.
func compiled(t *testing.T, cgo, tags string, programs ...string) map[string]string {
	t.Helper()
	const format = `{{.ImportPath}} {{.GoFiles}} {{.CgoFiles}} {{.SFiles}}`
	cmd := exec.Command("go", append([]string{"list", "-deps", "-tags", tags, "-f", format}, programs...)...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED="+cgo)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	packages := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, files, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages[name] = files
	}
	return packages
}

// A package is compiled twice when two builds give the compiler other files of it. runc
// alone is linked with C: its own packages and net are its own, with what imports
// them 18 of its 221 packages.
func TestNothingIsCompiledTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("go list reads all of Kubernetes")
	}
	ours := compiled(t, "0", "no_btrfs", "./cmd/...", "./cluster/runtime/...")
	runc := compiled(t, "1", "seccomp,netgo,osusergo,runc_nocriu,urfave_cli_no_docs", "github.com/opencontainers/runc")
	shared := 0
	for name, files := range runc {
		switch other, ok := ours[name]; {
		case !ok:
		case other == files:
			shared++
		case name == "net" || name == "runtime/cgo" || strings.HasPrefix(name, "github.com/opencontainers/runc"):
		default:
			t.Errorf("%s is compiled twice: of %s, and for runc of %s", name, other, files)
		}
	}
	if shared < 150 {
		t.Errorf("runc shares only %d packages with the other programs", shared)
	}
}

package cri_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
)

// TestRotationLosesNothing lets a container write numbers while its log is rotated
// again and again, and reads them all back.
func TestRotationLosesNothing(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", `i=0; while [ ! -e /tmp/stop ]; do i=$((i+1)); echo $i; done`))
	id := p.Start("main", 0)
	v, err := n.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	const most = 40 << 10
	policy := cri.Rotation{MaxSize: most, MaxFiles: 100}
	rotated := func() []string {
		files, err := filepath.Glob(v.LogPath + ".*")
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	for len(rotated()) < 2 {
		before := len(rotated())
		critest.Eventually(t, "the log is rotated", func() bool {
			if err := n.RotateLogs(t.Context(), policy, []cri.ContainerView{v}); err != nil {
				t.Fatal(err)
			}
			return len(rotated()) > before
		})
	}
	if _, err := n.Exec(t.Context(), id, []string{"touch", "/tmp/stop"}, 0, 0); err != nil {
		t.Fatal(err)
	}
	p.WaitExit(id)
	next, begun := 1, ""
	for _, file := range append(rotated(), v.LogPath) {
		lines := strings.Split(strings.TrimSpace(readLog(t, file)), "\n")
		for i, line := range lines {
			number, want := begun+line[strings.LastIndexByte(line, ' ')+1:], strconv.Itoa(next)
			// The runtime takes output in blocks, and may cut a line where it opens the next file.
			if begun = ""; i == len(lines)-1 && number != want && strings.HasPrefix(want, number) {
				begun = number
				continue
			}
			if number != want {
				t.Fatalf("%s has %s where %s should be", file, number, want)
			}
			next++
		}
	}
	if begun != "" {
		t.Errorf("the rest of %s is missing", begun)
	}
	if !strings.HasSuffix(rotated()[0], ".gz") {
		t.Errorf("the oldest is not compressed: %v", rotated())
	}
	if err := n.Remove(t.Context(), v, false); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(v.LogPath + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func readLog(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package node

import (
	"path/filepath"
	"strings"
	"testing"
)

// A runtime that is not there is an error that names it.
func TestRunWithoutRuntime(t *testing.T) {
	dir := t.TempDir()
	endpoint := "unix://" + filepath.Join(dir, "none.sock")
	err := Run(t.Context(), Config{Name: "n", DataDir: filepath.Join(dir, "node"), PodLogsDir: filepath.Join(dir, "logs"), RuntimeEndpoint: endpoint})
	if err == nil || !strings.Contains(err.Error(), "none.sock") {
		t.Errorf("it says %v", err)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// mostScript bounds the page's program, in bytes.
const mostScript = 200 << 10

// What is in the repository is what make web makes.
func TestDistIsUpToDate(t *testing.T) {
	files, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Errorf("%d files were made", len(files))
	}
	for name, content := range files {
		kept, err := os.ReadFile(filepath.Join("..", "dist", name))
		if err != nil || !bytes.Equal(kept, content) {
			t.Errorf("web/dist/%s is not what web/app makes now (run make web): %v", name, err)
		}
		if len(content) > mostScript {
			t.Errorf("%s has %d bytes", name, len(content))
		}
	}
}

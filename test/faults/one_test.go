package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whylet.dev/whylet/front"
	"whylet.dev/whylet/test/fronts"
)

// TestOneOfTwo kills one replica of two again and again while people ask: nobody is left
// without an answer.
func TestOneOfTwo(t *testing.T) {
	program := os.Getenv("WHYLET_FRONT")
	if program == "" {
		t.Skip("run 'make test-faults'")
	}
	w := world(t)
	var replicas []*fronts.Program // the second is never killed
	for i := range 2 {
		p := w.Program(program, fmt.Sprintf("127.0.0.%d", i+1), "--archive", filepath.Join(t.TempDir(), "archive.db"))
		p.Start()
		replicas = append(replicas, p)
	}
	p := newPlay(t, w)
	people, stop := p.perform()
	time.Sleep(front.FreshFor + 10*time.Second) // one that has just begun comes last, and so far both have
	people()
	killed := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); killed++ {
		time.Sleep(rand.N(3 * time.Second))
		replicas[0].Kill()
		time.Sleep(rand.N(3 * time.Second)) // how long it is away
		replicas[0].Start()
	}
	stop()
	fmt.Printf("%d times one of two fronts was killed\n%s\n", killed, p.tally.String())
	if p.tally.failed+p.tally.nothing > 0 || p.tally.right == 0 {
		t.Errorf("an answer was lost: %s", p.tally.String())
	}
}

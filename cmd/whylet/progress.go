package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// repeatAfter is how long a wait may last before its line is printed again, so
// that a slow start is told from a dead one.
const repeatAfter = 5 * time.Second

// progress prints what a command is waiting for, a line each, with the seconds
// since it began. Its methods may be called concurrently.
type progress struct {
	out   io.Writer
	began time.Time

	mu      sync.Mutex
	current string
	timer   *time.Timer
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, began: time.Now()}
}

// step says what happens now. An empty text ends the last step.
func (p *progress) step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == p.current {
		return
	}
	p.current = text
	if p.timer != nil {
		p.timer.Stop()
	}
	if text == "" {
		return
	}
	p.print(text)
	p.timer = time.AfterFunc(repeatAfter, p.repeat)
}

func (p *progress) repeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == "" {
		return
	}
	p.print("still " + p.current)
	p.timer = time.AfterFunc(repeatAfter, p.repeat)
}

func (p *progress) print(text string) {
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.began).Seconds(), text)
}

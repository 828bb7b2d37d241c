// Package lanes runs jobs in order where their order matters, and side by side where
// it does not.
//
//	lanes.go  Lanes
package lanes

import (
	"context"
	"sync"
)

// Lanes runs jobs that share a key one after the other, and jobs of different
// keys side by side. A lane costs a goroutine only while it has work. Safe for
// concurrent use.
type Lanes[K comparable] struct {
	mu     sync.Mutex
	queues map[K][]func(context.Context)
	closed bool // nobody may begin any more
	ctx    context.Context
	wg     sync.WaitGroup
}

// New makes lanes whose jobs get ctx.
func New[K comparable](ctx context.Context) *Lanes[K] {
	return &Lanes[K]{queues: map[K][]func(context.Context){}, ctx: ctx}
}

// Do queues a job on a lane; after Wait it does nothing, for a timer may ask that late.
func (l *Lanes[K]) Do(key K, job func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	queue, running := l.queues[key]
	l.queues[key] = append(queue, job)
	if !running {
		l.wg.Add(1)
		go l.run(key)
	}
}

func (l *Lanes[K]) run(key K) {
	defer l.wg.Done()
	for {
		l.mu.Lock()
		queue := l.queues[key]
		if len(queue) == 0 || l.ctx.Err() != nil {
			delete(l.queues, key)
			l.mu.Unlock()
			return
		}
		job := queue[0]
		l.queues[key] = queue[1:]
		l.mu.Unlock()
		job(l.ctx)
	}
}

// Wait returns when the jobs that run have ended. The context given to New must
// have ended before, so that those that are queued do not begin.
func (l *Lanes[K]) Wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}

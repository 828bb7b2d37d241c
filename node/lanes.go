package node

import (
	"context"
	"sync"
)

// lanes runs jobs that share a key one after the other, and jobs of different
// keys side by side. A lane costs a goroutine only while it has work. Safe for
// concurrent use.
type lanes struct {
	mu     sync.Mutex
	queues map[string][]func(context.Context)
	closed bool // nobody may begin any more
	ctx    context.Context
	wg     sync.WaitGroup
}

func newLanes(ctx context.Context) *lanes {
	return &lanes{queues: map[string][]func(context.Context){}, ctx: ctx}
}

// do queues a job on a lane; after wait it does nothing, for a timer may ask that late.
func (l *lanes) do(key string, job func(context.Context)) {
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

func (l *lanes) run(key string) {
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

// wait returns when the jobs that run have ended. The context given to newLanes must
// have ended before, so that those that are queued do not begin.
func (l *lanes) wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}

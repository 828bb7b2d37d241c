package sense

import (
	"time"

	"whylet.dev/whylet/fact"
)

// attention is what is known of a running container's cgroup.
type attention struct {
	read    fact.Sampled // the last that was read
	moved   time.Time    // when it last came nearer to a limit, or was first read
	next    time.Time    // when it is to be read again
	last    fact.Sampled // the last that was told
	toldAt  time.Time
	looked  time.Time
	trouble time.Time // the newest sign of it
	calm    bool      // the calm look was asked for
	asked   time.Time // when somebody's question last looked into it
	soon    int       // the looks of this trouble that came soon after another
	amidst  int       // those that came, or are to come, in the midst of an attempt
	reads   int       // how often its log was read, and when last
	readAt  time.Time
}

const (
	// lookEvery bounds looks into a container whose probe goes on failing. The first
	// few come sooner: a probe may end the container within seconds, and what piles up
	// meanwhile is not there at the first failure.
	lookEvery, lookSoon, soonLooks = 5 * time.Second, time.Second, 3
	// readEvery is how often the end of the log of a container that does not come up is
	// kept, after the first few looks.
	readEvery = 15 * time.Second
	// lookLater is how long a look waits that nobody's end depends on: it would take a
	// processor from the status that tells who serves.
	lookLater = 20 * time.Millisecond
	// readAfter is how long a container may take to come up before its log is read.
	readAfter = 3 * time.Second
)

// attention is what is known of a container so far. The caller holds mu.
func (l *Inspector) attention(id string) *attention {
	a := l.seen[id]
	if a == nil {
		a = &attention{}
		l.seen[id] = a
	}
	return a
}

// firstReady says whether a run of a container became ready for the first time. That
// its probes failed until then was its start, and no trouble.
func (l *Inspector) firstReady(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.attention(id)
	if a.calm {
		return false
	}
	a.calm, a.trouble = true, time.Time{}
	return true
}

// askedEach bounds looks into a container that somebody asks for.
const askedEach = 3 * time.Second

// mayBeAsked says whether a container is looked into for somebody who asks.
func (l *Inspector) mayBeAsked(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, now := l.attention(id), time.Now()
	if now.Sub(a.asked) < askedEach {
		return false
	}
	a.asked = now
	return true
}

// mayLookAmidst says whether one more look may come in the midst of an attempt.
func (l *Inspector) mayLookAmidst(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.attention(id)
	if a.amidst >= soonLooks {
		return false
	}
	a.amidst++
	return true
}

// mayRead says whether the end of a container's log belongs to a look: its words tell what
// it waits for, or what failed.
func (l *Inspector) mayRead(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.seen[id]
	now := time.Now()
	if a == nil || a.reads >= soonLooks && now.Sub(a.readAt) < readEvery {
		return false
	}
	a.reads, a.readAt = a.reads+1, now
	return true
}

// mayLook says whether a container whose probe failed is looked into at once.
func (l *Inspector) mayLook(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.attention(id)
	now := time.Now()
	if now.Sub(a.trouble) > troubleLasts {
		a.soon, a.amidst = 0, 0
	}
	a.trouble = now
	switch since := now.Sub(a.looked); {
	case since >= lookEvery:
	case since >= lookSoon && a.soon < soonLooks:
		a.soon++
	default:
		return false
	}
	a.looked = now
	return true
}

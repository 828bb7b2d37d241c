package dump

import (
	"path"
	"regexp"
	"strings"
	"time"
)

// moment finds out when a dump was made. A collector may write it down; else it is not before the
// newest time that the objects and logs have, and the files were written soon after it.
type moment struct {
	stamped, newest, written time.Time
}

// beatsWithin is how long after its newest time a dump may have been written: a kubelet renews a
// node's status every five minutes where nothing happens.
const beatsWithin = 15 * time.Minute

func (m *moment) of() time.Time {
	switch {
	case !m.stamped.IsZero():
		return m.stamped
	case m.newest.IsZero() || m.written.After(m.newest) && m.written.Sub(m.newest) < beatsWithin:
		return m.written
	}
	return m.newest
}

// stamp reads the file timestamp of must-gather, whose last line is when it ended.
func (m *moment) stamp(text string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " m=")
		for _, layout := range []string{"2006-01-02 15:04:05.999999999 -0700 MST", time.RFC3339Nano} {
			if t, err := time.Parse(layout, line); err == nil {
				m.stamped = t.UTC()
			}
		}
	}
}

func isTimestamp(name string) bool { return path.Base(name) == "timestamp" }

// file counts when a file was written.
func (m *moment) file(t time.Time) { m.written = later(m.written, t.UTC()) }

// seen counts a time at which something happened.
func (m *moment) seen(t time.Time) { m.newest = later(m.newest, t) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// happened are the fields of objects that the cluster's own clocks wrote.
var happened = regexp.MustCompile(`"(?:creationTimestamp|startTime|startedAt|finishedAt|lastTransitionTime|lastHeartbeatTime|lastUpdateTime|lastProbeTime|firstTimestamp|lastTimestamp|eventTime|lastObservedTime|lastScheduleTime|completionTime)":"(\d{4}-[^"]{15,30})"`)

// object counts the times of an object in compact JSON.
func (m *moment) object(raw []byte) {
	for _, found := range happened.FindAllSubmatch(raw, -1) {
		m.seen(parsed(string(found[1])))
	}
}

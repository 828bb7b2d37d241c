package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"whylet.dev/whylet/why/record"
)

// ErrNothing means that nothing in a dump can be asked about.
var ErrNothing = errors.New("no pod, workload, Service or node is in it")

// known are the forms of dumps, as an error names them.
const known = "kubectl cluster-info dump -o json|yaml, must-gather, a support bundle of troubleshoot.sh, kubectl get -o yaml|json, kubectl describe pod, kubectl get events, logs of containers"

// reader makes a case of the files of a dump.
type reader struct {
	into record.Case
	// most is how many bytes are kept, left how many of them remain.
	most, left int64
	// at is the place of an object among those of the case, by what names it.
	at     map[string]int
	pods   []pod
	logs   []log
	events []told
	// described are pods of which there may be nothing but a description.
	described []v1.Pod
	moment    moment
	// torn are lists of which an object was left out.
	torn []string
}

// Read reads a dump: a folder, an archive (.tar, .tar.gz, .tgz, .tar.zst), or one file. It keeps so
// many bytes at most. What it leaves out is in [record.Manifest.Missing], file by file; the error
// is [ErrNothing] where all was.
func Read(path string, most int64) (*record.Case, error) {
	r := newReader(most)
	if err := r.files(path); err != nil {
		return nil, fmt.Errorf("reading the dump %s: %w", path, err)
	}
	c := r.finish()
	if len(c.Objects) == 0 {
		err := fmt.Errorf("%s: %w; what can be read: %s", path, ErrNothing, known)
		if len(c.Missing) > 0 {
			err = fmt.Errorf("%w (%s)", err, c.Missing[0])
		}
		return nil, err
	}
	return c, nil
}

func newReader(most int64) *reader {
	return &reader{
		into: record.Case{Manifest: record.Manifest{Held: []string{}}, Logs: map[string][]byte{}, Facts: map[string][]byte{}},
		most: most, left: most, at: map[string]int{},
	}
}

// finish relates what was read file by file.
func (r *reader) finish() *record.Case {
	r.placeDescribed()
	r.placeLogs()
	r.into.Time = r.moment.of()
	r.placeEvents()
	r.into.Held = slices.DeleteFunc(r.into.Held, func(list string) bool { return slices.Contains(r.torn, list) })
	return &r.into
}

// miss notes what was left out, and why.
func (r *reader) miss(file, why string) {
	const most = 1000
	if len(r.into.Missing) < most {
		r.into.Missing = append(r.into.Missing, file+": "+why)
	}
}

// keep puts an object into the case; it replaces one that is there already. One that nobody can
// answer from is left out, and with it that its list is whole.
func (r *reader) keep(k record.Kind, o head, raw json.RawMessage) {
	list := k.Held(o.Metadata.Namespace)
	key := list + "/" + o.Metadata.Name
	object, err := typed(k, raw)
	if err != nil {
		r.miss(fmt.Sprintf("%.200q", key), err.Error())
		r.torn = append(r.torn, list)
		return
	}
	if i, there := r.at[key]; there {
		r.into.Objects[i] = raw
		return
	}
	r.at[key] = len(r.into.Objects)
	r.into.Objects = append(r.into.Objects, raw)
	if p, ok := object.(*v1.Pod); ok {
		r.pods = append(r.pods, podOf(p))
	}
}

// keepMade is the same of an object that was made of a text.
func (r *reader) keepMade(k record.Kind, object any) {
	var o head
	if raw := marshalled(object); raw != nil && json.Unmarshal(raw, &o) == nil {
		r.keep(k, o, raw)
	}
}

// typed reads an object as a client does; one that none can read would leave it without the whole list.
func typed(k record.Kind, raw json.RawMessage) (runtime.Object, error) {
	if err := record.Sound(raw); err != nil {
		return nil, err
	}
	into, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(k.Version, k.Kind))
	if err != nil {
		return nil, err
	}
	return into, json.Unmarshal(raw, into)
}

// hold notes that all objects of a kind in a namespace are in the dump.
func (r *reader) hold(list string) {
	if !slices.Contains(r.into.Held, list) {
		r.into.Held = append(r.into.Held, list)
	}
}

// parsed is a time as the API writes it; zero where it is none.
func parsed(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

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

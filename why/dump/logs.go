package dump

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/record"
)

// pod is one of the dump, as paths of logs name it.
type pod struct {
	space, name string
	containers  []string
	waiting     []string // those of them that wait for their next run
}

func podOf(o *v1.Pod) pod {
	p := pod{space: o.Namespace, name: o.Name}
	for _, c := range slices.Concat(o.Spec.InitContainers, o.Spec.Containers) {
		p.containers = append(p.containers, c.Name)
	}
	for _, c := range o.Spec.EphemeralContainers {
		p.containers = append(p.containers, c.Name)
	}
	for _, s := range slices.Concat(o.Status.InitContainerStatuses, o.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			p.waiting = append(p.waiting, s.Name)
		}
	}
	return p
}

// log is a file that may be a container's log.
type log struct {
	name string
	text []byte
}

// isLog reports whether a file's name says that it is a log.
func isLog(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".log") || strings.Contains(base, ".log.") && !strings.HasSuffix(base, ".gz")
}

// run is whose log a file is.
type run struct {
	pod
	container string
	previous  bool
	// number is how often the container had been started before, where the path says it.
	number int
}

// placeLogs finds whose the logs are.
func (r *reader) placeLogs() {
	newest := map[string]int{} // number of the newest run that has a log, by container
	places := make([]run, len(r.logs))
	found := make([]bool, len(r.logs))
	for i, l := range r.logs {
		if places[i], found[i] = r.place(l.name); found[i] {
			key := record.LogOf(places[i].space, places[i].name, places[i].container, false)
			newest[key] = max(newest[key], places[i].number)
		}
	}
	for i, l := range r.logs {
		p := places[i]
		before := newest[record.LogOf(p.space, p.name, p.container, false)] - p.number
		switch {
		case !found[i]:
			r.miss(l.name, "it names no pod of the dump and no container of one")
		case before <= 1:
			r.keepLog(p.space, p.name, p.container, p.previous || before == 1, l.text)
		}
	}
	// While a container waits for its next run, kubelet has no newer log than that of the last.
	for _, p := range r.pods {
		for _, container := range p.waiting {
			now, before := record.LogOf(p.space, p.name, container, false), record.LogOf(p.space, p.name, container, true)
			if r.into.Logs[before] == nil && r.into.Logs[now] != nil {
				r.into.Logs[before] = r.into.Logs[now]
			}
		}
	}
}

// keepLog puts the lines of a container into the case; of two files with the same it keeps the longer.
func (r *reader) keepLog(space, pod, container string, previous bool, text []byte) {
	if text = plain(text); len(text) == 0 {
		return
	}
	if key := record.LogOf(space, pod, container, previous); len(text) > len(r.into.Logs[key]) {
		r.into.Logs[key] = text
		r.moment.lines(text)
	}
}

var (
	// runtimeLog is a path that kubelet gives a log: pods/NAMESPACE_POD_UID/CONTAINER/0.log.
	runtimeLog = regexp.MustCompile(`(?:^|/)([^/_]+)_([^/_]+)_[^/_]+/([^/]+)/(\d+)\.log`)
	// linkedLog is the link to it: containers/POD_NAMESPACE_CONTAINER-ID.log.
	linkedLog = regexp.MustCompile(`(?:^|/)([^/_]+)_([^/_]+)_([^/_]+)-[0-9a-f]{64}\.log$`)
	// previously ends the name of the log of the run before.
	previously = regexp.MustCompile(`(?i)[-_.]?(?:previous|prev)$`)
)

// place finds the container whose log has this path.
func (r *reader) place(name string) (run, bool) {
	if m := runtimeLog.FindStringSubmatch(name); m != nil {
		number, _ := strconv.Atoi(m[4])
		return r.called(m[1], m[2], m[3], run{number: number})
	}
	if m := linkedLog.FindStringSubmatch(name); m != nil {
		return r.called(m[2], m[1], m[3], run{})
	}
	parts := strings.Split(strings.TrimSuffix(name, path.Ext(name)), "/")
	last := &parts[len(parts)-1]
	var p run
	if short := previously.ReplaceAllString(strings.TrimSuffix(*last, ".insecure"), ""); short != strings.TrimSuffix(*last, ".insecure") {
		p.previous, *last = true, short // NAME-previous.log, logs/previous.insecure.log
	}
	return r.named(parts, p)
}

// called finds a container by names that a path has whole.
func (r *reader) called(space, name, container string, p run) (run, bool) {
	for _, one := range r.pods {
		if one.space == space && one.name == name && slices.Contains(one.containers, container) {
			p.pod, p.container = one, container
			return p, true
		}
	}
	return p, false
}

// named finds the pod whose name is part of a path, the longest where several are, and in the
// rest of the path its container.
func (r *reader) named(parts []string, p run) (run, bool) {
	best := 0
	for _, one := range r.pods {
		for i, part := range parts {
			rest, ok := after(part, one)
			if !ok {
				continue
			}
			container, ok := containerIn(append([]string{rest}, parts[i+1:]...), one.containers)
			// A folder of the pod's namespace tells apart pods of the same name.
			fits := len(one.name) * 2
			if slices.Contains(parts[:i], one.space) {
				fits++
			}
			if ok && fits > best {
				best, p.pod, p.container = fits, one, container
			}
		}
	}
	return p, best > 0
}

// after is what a part of a path has after a pod's name, with its namespace before it or without.
func after(part string, p pod) (string, bool) {
	for _, sep := range []string{"_", "-", "."} {
		part = strings.TrimPrefix(part, p.space+sep)
	}
	rest, ok := strings.CutPrefix(part, p.name)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], "-_.") {
		return "", false
	}
	return strings.Trim(rest, "-_."), true
}

// containerIn finds a container that parts of a path name; a pod's only one needs no name.
func containerIn(parts, containers []string) (string, bool) {
	for _, part := range parts {
		if slices.Contains(containers, part) {
			return part, true
		}
	}
	if len(containers) == 1 && parts[0] == "" && len(parts) == 1 {
		return containers[0], true
	}
	return "", false
}

// ownTime is the time that a line of JSON has of its program's logger.
var ownTime = regexp.MustCompile(`^\{.*"(?:@?timestamp|time|ts)" ?: ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d))"`)

// plain writes lines of a log as kubectl logs --timestamps does, whatever form they are in. A line without a time gets
// its own, if its program writes one.
func plain(text []byte) []byte {
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return nil
	}
	var b bytes.Buffer
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		line = bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), nil)
		if stamp, said, ok := ofRuntime(line); ok {
			b.WriteString(stamp)
			b.WriteByte(' ')
			line = said
		} else if own := ownTime.FindSubmatch(line); own != nil {
			b.Write(own[1])
			b.WriteByte(' ')
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// ofRuntime reads a line as a runtime writes it into a node's file: "TIME stdout F text" of the
// runtime interface, {"log": "text\n", "stream": "stdout", "time": "TIME"} of Docker.
func ofRuntime(line []byte) (stamp string, said []byte, ok bool) {
	if bytes.HasPrefix(line, []byte(`{"log":`)) {
		var l struct{ Log, Stream, Time string }
		if json.Unmarshal(line, &l) == nil && l.Stream != "" && !parsed(l.Time).IsZero() {
			return l.Time, []byte(strings.TrimRight(l.Log, "\n")), true
		}
		return "", nil, false
	}
	parts := bytes.SplitN(line, []byte(" "), 4)
	if len(parts) < 3 || string(parts[1]) != "stdout" && string(parts[1]) != "stderr" || string(parts[2]) != "F" && string(parts[2]) != "P" || parsed(string(parts[0])).IsZero() {
		return "", nil, false
	}
	if len(parts) == 4 {
		said = parts[3]
	}
	return string(parts[0]), said, true
}

// lines counts when the last line of a log was written, where the node's clock says that.
func (m *moment) lines(text []byte) {
	text = bytes.TrimRight(text, "\n")
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	stamp, _, _ := bytes.Cut(last, []byte(" "))
	if t, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil && len(stamp) > len("2006-01-02T15:04:05Z") {
		m.seen(t.UTC())
	}
}

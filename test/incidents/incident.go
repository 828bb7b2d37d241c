package incidents

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/record"
)

// now is when all incidents are asked about.
var now = time.Date(2026, 11, 28, 10, 10, 0, 0, time.UTC)

// incident is one file of testdata.
type incident struct {
	archive *txtar.Archive
	// want are the lines before the files, by their keys.
	want map[string][]string
	made *record.Case
}

func parse(raw []byte) (*incident, error) {
	i := &incident{archive: txtar.Parse(raw), want: map[string][]string{}}
	for line := range strings.Lines(string(i.archive.Comment)) {
		if key, value, ok := strings.Cut(line, ": "); ok && !strings.Contains(key, " ") {
			if !slices.Contains([]string{"ask", "symptom", "cause", "leads", "says", "never", "open"}, key) {
				return nil, fmt.Errorf("unknown key %q", key)
			}
			i.want[key] = append(i.want[key], strings.TrimSpace(value))
		}
	}
	i.made = &record.Case{Manifest: record.Manifest{Time: now, Namespace: "shop"}, Logs: map[string][]byte{}}
	objects := append([]string{node, namespace}, defaults...)
	for _, f := range i.archive.Files {
		switch {
		case f.Name == "objects.yaml":
			objects = append(objects, strings.Split(string(f.Data), "\n---\n")...)
		case strings.HasSuffix(f.Name, ".log"):
			text, err := stamped(string(f.Data))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			i.made.Logs[path.Join("shop", f.Name)] = text
		case f.Name != "answer":
			return nil, fmt.Errorf("%s is neither objects.yaml nor a log", f.Name)
		}
	}
	for _, text := range objects {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		complete(o)
		asJSON, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		i.made.Objects = append(i.made.Objects, asJSON)
	}
	return i, nil
}

const (
	node      = `{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/os: linux}}, status: {conditions: [{type: Ready, status: "True"}]}}`
	namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
)

var defaults = []string{`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}`}

// complete fills in what every object has, and what a pod has that runs and is Ready.
func complete(o map[string]any) {
	meta := in(o, "metadata")
	kind, _ := o["kind"].(string)
	if kind != "Node" && kind != "Namespace" && kind != "PersistentVolume" && kind != "StorageClass" && kind != "PriorityClass" {
		put(meta, "namespace", "shop")
	}
	put(meta, "uid", fmt.Sprint(kind, "-", meta["name"]))
	put(meta, "creationTimestamp", now.Add(-10*time.Minute).Format(time.RFC3339))
	if kind == "Event" {
		put(meta, "name", fmt.Sprintf("e%p", o))
		return
	}
	if kind != "Pod" {
		return
	}
	spec, status := in(o, "spec"), in(o, "status")
	put(status, "phase", "Running")
	if status["phase"] != "Pending" || status["containerStatuses"] != nil || status["initContainerStatuses"] != nil {
		put(spec, "nodeName", "n1")
		put(status, "startTime", meta["creationTimestamp"])
	}
	running := map[string]any{"running": map[string]any{"startedAt": meta["creationTimestamp"]}}
	var states []any
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		c := c.(map[string]any)
		put(c, "image", fmt.Sprint("registry.example/", c["name"], ":1"))
		states = append(states, map[string]any{"name": c["name"], "ready": true, "started": true, "state": running})
	}
	if spec["nodeName"] == nil {
		return
	}
	put(status, "containerStatuses", states)
	ready := "True"
	for _, s := range status["containerStatuses"].([]any) {
		if s.(map[string]any)["ready"] != true {
			ready = "False"
		}
	}
	put(status, "conditions", []any{
		map[string]any{"type": "PodScheduled", "status": "True"},
		map[string]any{"type": "ContainersReady", "status": ready, "lastTransitionTime": meta["creationTimestamp"]},
		map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": meta["creationTimestamp"]},
	})
}

// in gives an object's field that is an object, and makes it.
func in(o map[string]any, field string) map[string]any {
	put(o, field, map[string]any{})
	inner, _ := o[field].(map[string]any)
	return inner
}

// put sets a field that is not set.
func put(o map[string]any, field string, value any) {
	if o[field] == nil {
		o[field] = value
	}
}

var written = regexp.MustCompile(`^(\w+)(?:-(\w+)/(\w+))? (.*)$`)

// stamped gives the lines of a log with the times at which they were written, oldest first.
func stamped(text string) ([]byte, error) {
	type line struct {
		at   time.Time
		text string
	}
	var all []line
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		m := written.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%q does not begin with a duration", l)
		}
		from, err := time.ParseDuration(m[1])
		if err != nil {
			return nil, err
		}
		until, every := from, time.Second
		if m[2] != "" {
			if until, err = time.ParseDuration(m[2]); err != nil {
				return nil, err
			}
			if every, err = time.ParseDuration(m[3]); err != nil || every <= 0 {
				return nil, fmt.Errorf("%q: %w", l, err)
			}
		}
		for d := from; d >= until; d -= every {
			all = append(all, line{now.Add(-d), m[4]})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at.Compare(b.at) })
	var w strings.Builder
	for _, l := range all {
		fmt.Fprintf(&w, "%s %s\n", l.at.Format("2006-01-02T15:04:05.000000000Z07:00"), l.text)
	}
	return []byte(w.String()), nil
}

package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/record"
)

// head is what an object says of itself.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
		Continue  string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// jsonDocuments reads objects that follow one another, and reports whether one was known.
func (r *reader) jsonDocuments(name string, text []byte) (known bool) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if known && d.InputOffset() < int64(len(text)) && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
				r.miss(name, "what follows the first objects is no JSON")
			}
			return known
		}
		known = r.document(name, raw, false) || known
	}
}

// isYAML reports whether a text may be objects in YAML.
func isYAML(name string, text []byte) bool {
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		return true
	}
	return slices.ContainsFunc([]string{"apiVersion:", "kind:", "items:", "---\napiVersion:", "---\nkind:"}, func(begins string) bool { return bytes.HasPrefix(text, []byte(begins)) })
}

// yamlDocuments reads objects that lines of --- separate.
func (r *reader) yamlDocuments(name string, text []byte) (known bool) {
	for _, part := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		if len(part) > mostDocument {
			r.miss(name, fmt.Sprintf("a part of it has more than %d MiB of YAML; collect it as JSON", mostDocument>>20))
			continue
		}
		var raw []byte
		err := withoutAlias(part)
		if err == nil {
			raw, err = yaml.YAMLToJSON(part)
		}
		if err != nil {
			why, _, _ := strings.Cut(err.Error(), "\n")
			r.miss(name, "a part of it is no YAML: "+why)
			continue
		}
		known = r.document(name, raw, true) || known
	}
	return known
}

// mostDocument bounds a document of YAML: its nodes take many times as much memory.
const mostDocument = 32 << 20

// withoutAlias refuses YAML that repeats parts of itself, which no program writes of objects.
func withoutAlias(text []byte) error {
	if bytes.IndexByte(text, '&') < 0 || bytes.IndexByte(text, '*') < 0 {
		return nil
	}
	var top yamlv3.Node
	if err := yamlv3.Unmarshal(text, &top); err != nil {
		return err
	}
	for all := []*yamlv3.Node{&top}; len(all) > 0; {
		n := all[len(all)-1]
		if n.Kind == yamlv3.AliasNode || n.Anchor != "" {
			return fmt.Errorf("line %d has an alias or an anchor", n.Line)
		}
		all = append(all[:len(all)-1], n.Content...)
	}
	return nil
}

// document takes an object, or a list of objects. Half a list is YAML as well, and has no kind.
func (r *reader) document(name string, raw json.RawMessage, isYAML bool) bool {
	var o head
	if bytes.HasPrefix(raw, []byte("[")) {
		if json.Unmarshal(raw, &o.Items) != nil {
			return false
		}
	} else if json.Unmarshal(raw, &o) != nil {
		return false
	}
	if o.Items == nil && !strings.HasSuffix(o.Kind, "List") {
		return r.object(raw, o)
	}
	kind := strings.TrimSuffix(o.Kind, "List")
	if k, ok := kindOfPath(name); ok && o.Kind == "" {
		o.APIVersion, kind = k.Version, k.Kind
	}
	known, half := false, isYAML && o.Kind == ""
	spaces := map[string]bool{}
	for _, item := range o.Items {
		var one head
		if err := json.Unmarshal(item, &one); err != nil {
			r.miss(name, "an object of it cannot be read: "+err.Error())
			half = true
			continue
		}
		if one.Kind == "" || one.APIVersion == "" {
			if item = labelled(item, o.APIVersion, kind); item == nil {
				continue
			}
			one.APIVersion, one.Kind = o.APIVersion, kind
		}
		spaces[one.Metadata.Namespace] = true
		known = r.object(item, one) || known
	}
	if half {
		return known
	}
	return r.wholeList(name, o, kind, spaces) || known
}

// labelled puts into an object of a list what the list says of all.
func labelled(item json.RawMessage, version, kind string) json.RawMessage {
	var o map[string]json.RawMessage
	if kind == "" || json.Unmarshal(item, &o) != nil || o == nil {
		return nil
	}
	o["apiVersion"], _ = json.Marshal(version)
	o["kind"], _ = json.Marshal(kind)
	return marshalled(o)
}

// marshalled is a value in JSON; nil where it has none.
func marshalled(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// wholeList notes of which namespaces a list of the API has all objects. What kubectl get prints
// is a List of chosen ones, and never whole.
func (r *reader) wholeList(name string, o head, kind string, spaces map[string]bool) bool {
	k, ok := record.KindOf(o.APIVersion, kind)
	if !ok || o.Metadata.Continue != "" {
		return kind != "" && o.APIVersion != ""
	}
	if space := spaceOfPath(name, k); space != "" && len(spaces) == 0 {
		spaces[space] = true
	}
	if !k.Namespaced {
		r.hold(k.Held(""))
		return true
	}
	delete(spaces, "")
	for space := range spaces {
		r.hold(k.Held(space))
	}
	return true
}

// object keeps one object if answers are made of its kind.
func (r *reader) object(raw json.RawMessage, o head) bool {
	if o.Kind == "Event" && o.APIVersion == "events.k8s.io/v1" {
		if raw = coreEvent(raw); raw == nil {
			return false
		}
		o.APIVersion = "v1"
	}
	k, ok := record.KindOf(o.APIVersion, o.Kind)
	if !ok || o.Metadata.Name == "" {
		return o.Kind != "" && o.APIVersion != "" // of a kind of which answers make nothing
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return false
	}
	r.moment.object(b.Bytes())
	r.keep(k, o, b.Bytes())
	return true
}

// coreEvent writes an event of events.k8s.io as one of v1, of which answers are made.
func coreEvent(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	for from, to := range map[string]string{
		"regarding": "involvedObject", "note": "message", "deprecatedFirstTimestamp": "firstTimestamp",
		"deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count", "deprecatedSource": "source", "reportingController": "reportingComponent",
	} {
		if v, there := o[from]; there {
			o[to] = v
			delete(o, from)
		}
	}
	o["apiVersion"] = json.RawMessage(`"v1"`)
	return marshalled(o)
}

// shortNames are those that collectors give to files of a kind.
var shortNames = map[string]string{"pvcs": "persistentvolumeclaims", "pvs": "persistentvolumes", "hpa": "horizontalpodautoscalers", "limitrange": "limitranges"}

// resourceIn is what a file's or folder's name says of the kind of its objects: replica-sets.
func resourceIn(name string) string {
	name = strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "-", "")
	if long := shortNames[name]; long != "" {
		return long
	}
	return name
}

// kindOfPath is the kind of the objects in a file of which neither they nor the list say it, as
// support bundles have had it: cluster-resources/pods/NAMESPACE.json.
func kindOfPath(name string) (record.Kind, bool) {
	for _, k := range record.Kinds {
		if r := resourceIn(path.Base(path.Dir(name))); k.Namespaced && r == k.Resource {
			return k, true
		}
		if resourceIn(path.Base(name)) == k.Resource {
			return k, true
		}
	}
	return record.Kind{}, false
}

// spaceOfPath is the namespace whose list of a kind a file has, by its path: NAMESPACE/pods.json
// of kubectl cluster-info dump, NAMESPACE/core/pods.yaml of must-gather, pods/NAMESPACE.json of
// support bundles. It is empty for any other path.
func spaceOfPath(name string, k record.Kind) string {
	parts := strings.Split(name, "/")
	n := len(parts)
	switch {
	case n > 1 && resourceIn(parts[n-2]) == k.Resource:
		return strings.TrimSuffix(parts[n-1], path.Ext(parts[n-1]))
	case resourceIn(parts[n-1]) != k.Resource:
		return ""
	case n > 2 && (parts[n-2] == "core" || slices.Contains([]string{"apps", "batch", "policy", "autoscaling"}, parts[n-2]) || strings.Contains(parts[n-2], ".k8s.io")):
		return parts[n-3]
	case n > 1:
		return parts[n-2]
	}
	return ""
}

// Around each container's log kubectl cluster-info dump writes a line (kubectl,
// pkg/cmd/clusterinfo/clusterinfo_dump.go, printContainer).
var (
	startOfLog = regexp.MustCompile(`(?m)^==== START logs for container (\S+) of pod (\S+)/(\S+) ====\n`)
	endOfLog   = regexp.MustCompile(`==== END logs for container (\S+ of pod \S+/\S+) ====\n`)
)

func hasStream(text []byte) bool { return startOfLog.Match(text) }

// stream reads what kubectl cluster-info dump prints: objects, and logs between them. Whoever writes a log can write the
// line that ends it, and objects of others behind that: from a log on that ends twice nothing is read.
func (r *reader) stream(name string, text []byte) bool {
	ends := map[string][][]int{}
	for _, at := range endOfLog.FindAllSubmatchIndex(text, -1) {
		whose := string(text[at[2]:at[3]])
		ends[whose] = append(ends[whose], at)
	}
	for from := 0; ; {
		at := startOfLog.FindSubmatchIndex(text[from:])
		if at == nil {
			r.between(name, text[from:])
			return true
		}
		r.between(name, text[from:from+at[0]])
		part := func(i int) string { return string(text[from+at[2*i] : from+at[2*i+1]]) }
		container, space, pod := part(1), part(2), part(3)
		from += at[1]
		whose := fmt.Sprintf("%s of pod %s/%s", container, space, pod)
		own := slices.DeleteFunc(ends[whose], func(end []int) bool { return end[0] < from })
		if len(own) > 1 {
			r.miss(name, "the log of container "+whose+" ends in it more than once; it and what follows may be somebody else's words")
			return true
		}
		content, next := text[from:], len(text) // where it was cut short
		if len(own) == 1 {
			content, next = text[from:own[0][0]], own[0][1]
		}
		from = next
		if len(bytes.TrimSpace(content)) > 0 && !bytes.HasPrefix(content, []byte("Create log request error: ")) && !bytes.HasPrefix(content, []byte("Request log error: ")) {
			r.keepLog(space, pod, container, false, lastOf(content))
		}
	}
}

// between reads the objects between two logs.
func (r *reader) between(name string, text []byte) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
	case text[0] == '{':
		r.jsonDocuments(name, text)
	default:
		r.yamlDocuments(name, text)
	}
}

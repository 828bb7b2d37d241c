package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Parse reads the documents of a manifest file, YAML or JSON, and finds the pods
// that they make, with the lines on which containers, probes and volumes stand.
func Parse(file string, data []byte) ([]Workload, error) {
	var all []Workload
	for n, d := range documents(data) {
		object, err := yaml.YAMLToJSON(d.text)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d (line %d) is neither YAML nor JSON: %w", file, n+1, d.line, err)
		}
		if bytes.Equal(bytes.TrimSpace(object), []byte("null")) {
			continue
		}
		found, err := Read(file, object)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d (line %d): %w", file, n+1, d.line, err)
		}
		d.locate(found)
		all = append(all, found...)
	}
	return all, nil
}

// document is a part of a file, and the line on which it begins.
type document struct {
	text []byte
	line int
}

// documents splits a file as kubectl does: JSON values one behind the other, or
// YAML between lines of ---.
func documents(data []byte) []document {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		if values, err := jsonValues(data); err == nil {
			return values
		}
	}
	var all []document
	begin, line, number := 0, 1, 1
	for at := 0; at < len(data); number++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if separates(data[at:end]) {
			all = append(all, document{data[begin:at], line})
			begin, line = end, number+1
		}
		at = end
	}
	return append(all, document{data[begin:], line})
}

// separates tells a line of --- with nothing but a comment behind it.
func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

func jsonValues(data []byte) ([]document, error) {
	var all []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for at := int64(0); ; at = decoder.InputOffset() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			if len(bytes.TrimSpace(data[at:])) == 0 {
				return all, nil
			}
			return nil, err
		}
		from := decoder.InputOffset() - int64(len(raw))
		all = append(all, document{raw, 1 + bytes.Count(data[:from], []byte{'\n'})})
	}
}

// locate fills in the lines of the workloads that were found in a document, in
// their order. Without them a finding only names its object.
func (d document) locate(found []Workload) {
	root, err := tree(d.text)
	if err != nil {
		return
	}
	objects := objectsOf(root)
	if len(objects) != len(found) {
		return
	}
	for i := range found {
		found[i].lines = d.lines(objects[i])
	}
}

// tree parses YAML. The parser is known to panic on some of what is no YAML at
// all, which Kubernetes' own has accepted.
func tree(text []byte) (root *yamlnode.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not parsed")
		}
	}()
	var document yamlnode.Node
	if err := yamlnode.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, errors.New("not one document")
	}
	return document.Content[0], nil
}

// objectsOf are the objects in a document that make pods, as Read finds them.
func objectsOf(node *yamlnode.Node) []*yamlnode.Node {
	kind, version := child(node, "kind"), child(node, "apiVersion")
	if kind != nil && version != nil {
		t := typeOf(version.Value, kind.Value)
		if makesPods(t) {
			return []*yamlnode.Node{node}
		}
	}
	var all []*yamlnode.Node
	if items := child(node, "items"); items != nil && items.Kind == yamlnode.SequenceNode {
		for _, item := range items.Content {
			all = append(all, objectsOf(item)...)
		}
	}
	return all
}

// child is the value of a key of a mapping, nil where there is none.
func child(node *yamlnode.Node, keys ...string) *yamlnode.Node {
	for _, key := range keys {
		if node != nil && node.Kind == yamlnode.AliasNode {
			node = node.Alias
		}
		if node == nil || node.Kind != yamlnode.MappingNode {
			return nil
		}
		var next *yamlnode.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				next = node.Content[i+1]
			}
		}
		node = next
	}
	return node
}

// podSpecs is where the kinds have their pods' spec.
var podSpecs = map[string][]string{
	"Pod":     {"spec"},
	"CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
}

// lines are the lines of an object and of what is in its pods' spec, by name:
// "containers/NAME", "containers/NAME/livenessProbe", "volumes/NAME".
func (d document) lines(object *yamlnode.Node) map[string]int {
	lines := map[string]int{"": d.line + object.Line - 1}
	path, ok := podSpecs[child(object, "kind").Value]
	if !ok {
		path = []string{"spec", "template", "spec"}
	}
	spec := child(object, path...)
	for set, as := range map[string]string{"containers": "containers", "initContainers": "containers", "volumes": "volumes"} {
		list := child(spec, set)
		if list == nil || list.Kind != yamlnode.SequenceNode {
			continue
		}
		for _, one := range list.Content {
			name := child(one, "name")
			if name == nil || one.Kind != yamlnode.MappingNode {
				continue
			}
			where := as + "/" + name.Value
			lines[where] = d.line + one.Line - 1
			for i := 0; i+1 < len(one.Content); i += 2 {
				lines[where+"/"+one.Content[i].Value] = d.line + one.Content[i].Line - 1
			}
		}
	}
	return lines
}

// line finds the nearest line that is known on the way to a place.
func (w Workload) line(place string) int {
	for {
		if n, ok := w.lines[place]; ok {
			return n
		}
		i := strings.LastIndexByte(place, '/')
		if i < 0 {
			return w.lines[""]
		}
		place = place[:i]
	}
}

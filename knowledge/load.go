package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a file may hold at most. Whoever may write a ConfigMap may have an agent read it.
const (
	mostBytes   = 1 << 20
	mostEntries = 1000
	mostItems   = 200     // in each list of an entry
	mostNames   = 20      // in each list of other entries
	mostText    = 4 << 10 // in each text
	mostSteps   = 200_000 // of all expressions together
)

// Load reads the entries of a file in YAML, of which the name stands in errors. Fields that an entry does not have are
// errors. Each error names the file and the line.
func Load(name string, file []byte) ([]*Entry, error) {
	if len(file) > mostBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", name, mostBytes)
	}
	var entries []*Entry
	strict := yaml.NewDecoder(bytes.NewReader(file))
	strict.KnownFields(true)
	if err := strict.Decode(&entries); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, placed(name, err)
	}
	if err := strict.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	if len(entries) > mostEntries {
		return nil, fmt.Errorf("%s: more than %d entries", name, mostEntries)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, placed(name, err)
	}
	size := 0
	for i, at := range document.Content[0].Content {
		if entries[i] == nil {
			return nil, fmt.Errorf("%s:%d: an empty entry", name, at.Line)
		}
		entries[i].file, entries[i].lines = name, linesOf(at)
		if err := entries[i].bounded(); err != nil {
			return nil, err
		}
		for _, expression := range entries[i].Match {
			if size += sizeOf(expression); size > mostSteps {
				return nil, fmt.Errorf("%s: the expressions come to too much, all together", entries[i].at("match"))
			}
		}
	}
	return entries, nil
}

// yamlLine fits the lines that the decoder names.
var yamlLine = regexp.MustCompile(`(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): `)

// placed gives an error of the decoder the form file:line: reason.
func placed(name string, err error) error {
	text := err.Error()
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		reason, _, _ := strings.Cut(text[m[1]:], "\n")
		return fmt.Errorf("%s:%s: %s", name, text[m[2]:m[3]], strings.Replace(reason, " in type knowledge.", " in an ", 1))
	}
	return fmt.Errorf("%s: %s", name, text)
}

// linesOf are the lines of an entry and of the items of its lists.
func linesOf(entry *yaml.Node) map[string]int {
	for entry.Alias != nil {
		entry = entry.Alias
	}
	lines := map[string]int{"": entry.Line}
	for i := 0; i+1 < len(entry.Content); i += 2 {
		key, value := entry.Content[i], entry.Content[i+1]
		lines[key.Value] = key.Line
		for n, item := range value.Content {
			lines[fmt.Sprintf("%s.%d", key.Value, n)] = item.Line
		}
	}
	return lines
}

// bounded reports what of an entry is larger than it may be.
func (e *Entry) bounded() error {
	for name, list := range map[string][]string{"match": e.Match, "unless": e.Unless, "samples": e.Samples, "not": e.Not, "over": e.Over} {
		most := mostItems
		if name == "over" || name == "unless" {
			most = mostNames
		}
		if len(list) > most {
			return fmt.Errorf("%s: more than %d in %s", e.at(name), most, name)
		}
		for i, text := range list {
			if len(text) > mostText {
				return fmt.Errorf("%s: more than %d bytes", e.at(fmt.Sprintf("%s.%d", name, i)), mostText)
			}
		}
	}
	if len(e.Steps) > mostItems {
		return fmt.Errorf("%s: more than %d steps", e.at("steps"), mostItems)
	}
	for i, s := range e.Steps {
		if len(s.Text)+len(s.Command)+len(s.Kubectl) > mostText {
			return fmt.Errorf("%s: more than %d bytes", e.at(fmt.Sprintf("steps.%d", i)), mostText)
		}
	}
	if len(e.ID)+len(e.Speaker)+len(e.Means)+len(e.Seen.Version)+len(e.Seen.Source)+len(e.Seen.Memory) > mostText {
		return fmt.Errorf("%s: more than %d bytes", e.at(""), mostText)
	}
	return nil
}

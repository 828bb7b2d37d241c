package logline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// membersOfObject reads the members of a line that is an object in JSON; nil for another.
func membersOfObject(line string) map[string]string {
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) != nil {
		return nil
	}
	m := map[string]string{}
	for name, value := range object {
		switch v := value.(type) {
		case string:
			m[strings.ToLower(name)] = v
		case float64:
			if slices.Contains(levelsIn, name) {
				m[name] = strconv.FormatFloat(v, 'f', -1, 64)
			}
		case map[string]any:
			if name == "fields" { // of Rust's tracing
				name = "message"
			}
			within(m, strings.ToLower(name), v)
		}
	}
	return m
}

// within adds what the object under a name has: {"error": {"message": …}}, {"attr": {"error": …}}.
func within(m map[string]string, name string, object map[string]any) {
	switch message := object["message"].(type) {
	case string:
		m[name] = message
	case map[string]any:
		within(m, name, message)
	}
	if text, ok := object["msg"].(string); ok && m[name] == "" {
		m[name] = text
	}
	for _, inner := range append(slices.Clone(reasonsIn), stacksIn...) {
		switch v := object[inner].(type) {
		case string:
			m[inner] = cmp.Or(m[inner], v)
		case map[string]any:
			for _, name := range []string{"errmsg", "message", "msg"} {
				if text, ok := v[name].(string); ok {
					m[inner] = cmp.Or(m[inner], text)
				}
			}
		}
	}
}

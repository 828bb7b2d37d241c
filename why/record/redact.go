package record

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/redact"
)

// LastLines is how many lines of a container's log are recorded, and mostLine bounds each.
const (
	LastLines = 80
	mostLine  = 8 << 10
)

// Lines gives the last lines of a log as they are recorded: without secrets, long ones cut.
func Lines(raw []byte) []byte {
	raw = bytes.TrimRight(raw, "\n")
	if len(raw) == 0 {
		return nil
	}
	all := bytes.Split(raw, []byte("\n"))
	all = all[max(0, len(all)-LastLines):]
	for i, line := range all {
		all[i] = bytes.ToValidUTF8(line[:min(len(line), mostLine)], nil)
	}
	return append(redact.Bytes(bytes.Join(all, []byte("\n"))), '\n')
}

// Object gives an object of the API as it is recorded. Of a Secret its keys are left; of others
// what looks like a secret is replaced wherever it is, and what kubectl applied last is left out,
// since it has all values once more.
func Object(raw []byte) (json.RawMessage, error) {
	o, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(o, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	if m, ok := o["metadata"].(map[string]any); ok {
		for _, f := range list(m["managedFields"]) {
			if f, ok := f.(map[string]any); ok {
				delete(f, "fieldsV1")
			}
		}
	}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		values, ok := o[field].(map[string]any)
		for key := range values {
			if ok && (o["kind"] == "Secret" || field == "binaryData" || key == "ca.crt") {
				values[key] = ""
			}
		}
	}
	return json.Marshal(clean(o))
}

// Fact gives a fact in JSON as it is recorded.
func Fact(raw []byte) ([]byte, error) {
	o, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(clean(o))
}

// decoded keeps numbers as they are written.
func decoded(raw []byte) (o map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return o, d.Decode(&o)
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// cleanCommand replaces the secrets among a container's or a probe's command and arguments, which only tell together
// what each of them is.
func cleanCommand(v map[string]any) {
	var words []string
	for _, key := range []string{"command", "args"} {
		for _, one := range list(v[key]) {
			text, ok := one.(string)
			if !ok {
				return
			}
			words = append(words, text)
		}
	}
	words = redact.Args(words)
	for _, key := range []string{"command", "args"} {
		all := list(v[key])
		for i := range all {
			all[i] = words[i]
		}
		words = words[len(all):]
	}
}

// cleanEnd is the end of a log, whose wire form is compressed, without what looks like a secret.
func cleanEnd(v any) any {
	var end fact.LogEnd
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &end)
	}
	if err != nil {
		return nil
	}
	return redact.Strings(end)
}

// clean replaces what looks like a secret in all texts of a value, in place. The value of a
// variable is one by the variable's name, and so is a text in a map by its key.
func clean(v any) any {
	switch v := v.(type) {
	case string:
		return redact.Text(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	case map[string]any:
		name, named := v["name"].(string)
		cleanCommand(v)
		for key, inner := range v {
			text, ok := inner.(string)
			switch {
			case key == "logEnd":
				v[key] = cleanEnd(inner)
			case !ok:
				v[key] = clean(inner)
			case key == "value" && named:
				v[key] = redact.Value(name, text)
			default:
				v[key] = redact.Value(key, text)
			}
		}
	}
	return v
}

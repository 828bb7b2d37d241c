package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

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

var (
	// plainName fits each name that the API server takes, and nothing that means more to a shell.
	plainName = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._:]*$`)
	// plainLabel fits keys and values of labels and selectors.
	plainLabel = regexp.MustCompile(`^[-A-Za-z0-9._/]*$`)
	// endless is a quantity that takes hours to read.
	endless = regexp.MustCompile(`^[+-]?[0-9.]+[eE][+-]?\d{5,}$`)
)

// namesOf are the keys of which answers write the values into commands.
var namesOf = map[string]bool{
	"nodeName": true, "claimName": true, "secretName": true, "serviceAccountName": true, "serviceName": true, "storageClassName": true,
	"volumeName": true, "namespace": true,
}

// free are the keys below which a value may be any text.
var free = map[string]bool{"annotations": true, "data": true, "parameters": true, "volumeAttributes": true, "options": true}

// named are the objects whose name, kind and key answers write into commands, by their own key.
var named = []string{
	"metadata", "containers", "initContainers", "ephemeralContainers", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses",
	"volumes", "configMap", "secret", "configMapRef", "secretRef", "configMapKeyRef", "secretKeyRef", "imagePullSecrets", "ownerReferences",
	"involvedObject", "targetRef", "scaleTargetRef", "claimRef", "service",
}

// Sound refuses an object that no API server has and that would do harm: one whose metadata cannot
// be read, whose names are commands to a shell, or whose quantities take hours to read.
func Sound(raw json.RawMessage) error {
	var head struct {
		APIVersion, Kind string
		Metadata         meta
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var o any
	if err := d.Decode(&o); err != nil {
		return err
	}
	return sound(o, "", "")
}

// sound looks at a value with a key in an object that has a key itself; items of a list have that of the list.
func sound(value any, key, in string) error {
	switch v := value.(type) {
	case map[string]any:
		for k, inner := range v {
			if isLabels(key) && !plainLabel.MatchString(k) {
				return fmt.Errorf("%.60q is no label", k)
			}
			if err := sound(inner, k, key); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := sound(inner, key, in); err != nil {
				return err
			}
		}
	case json.Number:
		return soundText(v.String(), key, in)
	case string:
		return soundText(v, key, in)
	}
	return nil
}

func isLabels(key string) bool { return key == "labels" || key == "matchLabels" || key == "selector" }

func soundText(text, key, in string) error {
	isName := namesOf[key] || slices.Contains(named, in) && (key == "name" || key == "kind" || key == "key")
	switch {
	case free[in]:
	case isLabels(in):
		if !plainLabel.MatchString(text) {
			return fmt.Errorf("%.60q is no label", text)
		}
	case isName && text != "" && !plainName.MatchString(text):
		return fmt.Errorf("%.60q is no name", text)
	case endless.MatchString(strings.TrimSpace(text)):
		return fmt.Errorf("%.60q is no quantity", text)
	}
	return nil
}

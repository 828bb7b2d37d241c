package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

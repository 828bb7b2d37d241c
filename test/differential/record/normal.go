package record

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

var (
	hexID    = regexp.MustCompile(`[0-9a-f]{64}`)
	uid      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	address  = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+->)?`)
	duration = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|µs|s)\b`)
	backOff  = regexp.MustCompile(`back-off \S+`)
)

// normal replaces what differs between two runs of the same thing.
func normal(pod *v1.Pod, text string) string {
	text = hexID.ReplaceAllString(text, "<id>")
	text = uid.ReplaceAllString(text, "<uid>")
	text = address.ReplaceAllString(text, "<ip>")
	if pod.Spec.NodeName != "" {
		text = strings.ReplaceAll(text, " "+pod.Spec.NodeName, " <node>")
	}
	// A back-off's length is a promise; other durations were measured.
	if !backOff.MatchString(text) {
		text = duration.ReplaceAllString(text, "<time>")
	}
	return strings.TrimSpace(text)
}

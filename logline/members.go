package logline

import (
	"encoding/json"
	"slices"
	"strings"
)

// saidIn, reasonsIn and stacksIn are the members of a line in JSON or logfmt that say what happened, why, and
// where; the first that there is counts. levelsIn have its level.
var (
	saidIn    = []string{"msg", "message", "@message", "log", "event", "title"}
	reasonsIn = []string{"err", "error", "reason", "cause", "err.detail", "error.detail", "err.message", "error.message", "error_message", "errorMessage", "exception.message", "detail", "details", "alarm", "attr"}
	stacksIn  = []string{"stack_trace", "error.stack_trace", "exception.stacktrace", "exception", "exc_info", "traceback", "stack"}
	levelsIn  = []string{"level", "log.level", "severity", "lvl", "levelname", "level_name", "loglevel", "s"}
)

// members reads a line that is an object in JSON, or logfmt with a level or a message; nil for another.
func members(line string) map[string]string {
	if strings.HasPrefix(line, "{") {
		return membersOfObject(line)
	}
	if !strings.Contains(line, "level=") && !strings.Contains(line, "msg=") {
		return nil
	}
	return membersOfLogfmt(line)
}

// structured words the members of a line; empty where they have neither message nor reason.
func structured(m map[string]string) string {
	var parts []string
	for _, names := range [][]string{saidIn, reasonsIn} {
		for _, name := range names {
			if text := firstOf(m[name]); text != "" && !slices.Contains(parts, text) {
				parts = append(parts, strings.TrimSuffix(text, "."))
				break
			}
		}
	}
	for _, name := range stacksIn {
		if why := deepest(m[name]); why != "" && !slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(why, part) }) {
			parts = append(parts, why)
			break
		}
	}
	if text := strings.Join(parts, ": "); text == "" || strings.Contains(text, " ") || m["err_trace"] == "" {
		return text
	}
	return parts[0] + ": " + m["err_trace"] // a word alone tells next to nothing
}

// firstOf is what a member says, of one with several lines what comes before the frames of a stack.
func firstOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	n := 1
	for n < min(len(lines), 3) && !IsFrame(lines[n-1], lines[n]) {
		n++
	}
	return strings.Join(lines[:n], " / ")
}

// deepest is the last reason that a stack gives; empty where it gives none.
func deepest(stack string) string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	for i, text := range slices.Backward(lines) {
		if trimmed := strings.TrimSpace(text); IsRaised(trimmed) || raised.MatchString(trimmed) || belowTraceback(lines, i) {
			if above := wider(lines, i); above >= 0 {
				return strings.TrimSpace(lines[above]) + " / " + trimmed
			}
			return trimmed
		}
	}
	return ""
}

// mostShortened is how much is kept of what a long object says.
const mostShortened = 600

// shortened is a line with an object of which only its level and what it says are left.
func shortened(line string) string {
	m := map[string]string{}
	if strings.HasPrefix(line, "{") {
		m = members(line)
	}
	text := structured(m)
	if text == "" {
		return line
	}
	short := map[string]string{"msg": strings.ToValidUTF8(text[:min(len(text), mostShortened)], "")}
	for _, name := range levelsIn {
		if m[name] != "" {
			short[name] = m[name]
		}
	}
	if raw, err := json.Marshal(short); err == nil && len(raw) < len(line) {
		return string(raw)
	}
	return line
}

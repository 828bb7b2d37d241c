package kubelet

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line is one record of a log in the form of k8s.io/klog, as text or as JSON.
type Line struct {
	At      time.Time
	Error   bool
	Message string
	// Values are what the record names by key, without quotes.
	Values map[string]string
}

// mostValue bounds a value that is kept.
const mostValue = 4 << 10

// ParseLine reads a record; ok is false for what is none. The text form has neither
// year nor zone: it is read as the newest time not after now, in zone.
func ParseLine(text string, now time.Time, zone *time.Location) (l Line, ok bool) {
	if strings.HasPrefix(text, "{") {
		return parseJSON(text)
	}
	// Lmmdd hh:mm:ss.uuuuuu threadid file:line] message
	head, rest, found := strings.Cut(text, "] ")
	if !found || len(head) < 22 || !strings.Contains("IWEF", head[:1]) {
		return Line{}, false
	}
	at, err := time.ParseInLocation("0102 15:04:05.000000", head[1:21], zone)
	if err != nil {
		return Line{}, false
	}
	l.At = nearest(at, now.In(zone)).UTC()
	l.Error = head[0] == 'E'
	l.Message, l.Values = structured(rest)
	return l, true
}

// nearest gives a time the year in which it is not after now, but for a little that
// clocks may differ.
func nearest(at, now time.Time) time.Time {
	at = at.AddDate(now.Year()-at.Year(), 0, 0)
	if at.After(now.Add(24 * time.Hour)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at
}

// structured reads `"message" key="value" key=value`; a message of the old form is
// taken as it is.
func structured(text string) (message string, values map[string]string) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return text, nil
	}
	message, _ = strconv.Unquote(quoted) // it was just found to be quoted
	rest := text[len(quoted):]
	values = map[string]string{}
	for {
		rest = strings.TrimLeft(rest, " ")
		key, after, found := strings.Cut(rest, "=")
		if !found || key == "" || strings.ContainsAny(key, " \n") {
			return message, values
		}
		var value string
		value, rest = takeValue(after)
		if len(value) > mostValue {
			value = strings.ToValidUTF8(value[:mostValue], "")
		}
		values[key] = value
	}
}

// takeValue takes one value: quoted, a block of lines in <>, a structure in brackets, or
// up to the next blank.
func takeValue(text string) (value, rest string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
		value, _ = strconv.Unquote(quoted) // it was just found to be quoted
		return value, text[len(quoted):]
	}
	if block, ok := strings.CutPrefix(text, "<\n"); ok {
		value, rest, _ = strings.Cut(block, "\n >")
		lines := strings.Split(value, "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], "\t")
		}
		return strings.Join(lines, "\n"), rest
	}
	if text != "" && strings.Contains("{[&", text[:1]) {
		if end := closing(text); end > 0 {
			return text[:end], text[end:]
		}
	}
	value, rest, _ = strings.Cut(text, " ")
	return value, rest
}

// closing finds the end of what stands in brackets, outside of quotes; 0: there is none.
func closing(text string) int {
	depth, inQuotes := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && inQuotes:
			i++
		case c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// parseJSON reads a record of --logging-format=json.
func parseJSON(text string) (Line, bool) {
	var all map[string]any
	if json.Unmarshal([]byte(text), &all) != nil {
		return Line{}, false
	}
	message, _ := all["msg"].(string)
	ts, ok := all["ts"].(float64) // milliseconds, or seconds in older ones
	if !ok || message == "" {
		return Line{}, false
	}
	if ts < 1e11 {
		ts *= 1000
	}
	l := Line{At: time.UnixMicro(int64(ts * 1000)).UTC(), Message: message, Values: map[string]string{}}
	_, l.Error = all["err"]
	for key, v := range all {
		switch v := v.(type) {
		case []any:
			l.Values[key] = list(v)
		case string:
			l.Values[key] = v
		case float64:
			l.Values[key] = strconv.FormatFloat(v, 'f', -1, 64)
		case map[string]any:
			if name, ok := reference(v); ok {
				l.Values[key] = name
			}
		}
		if len(l.Values[key]) > mostValue {
			l.Values[key] = strings.ToValidUTF8(l.Values[key][:mostValue], "")
		}
	}
	return l, true
}

// reference reads an object's reference.
func reference(v map[string]any) (string, bool) {
	name, ok := v["name"].(string)
	return strings.TrimPrefix(fmt.Sprintf("%v/%s", v["namespace"], name), "<nil>/"), ok
}

// list gives objects' references the form that they have in text.
func list(all []any) string {
	var names []string
	for _, one := range all {
		if object, ok := one.(map[string]any); ok {
			if name, ok := reference(object); ok {
				names = append(names, strconv.Quote(name))
			}
		}
	}
	return "[" + strings.Join(names, ",") + "]"
}

// continues says whether a line belongs to the record before it: a block of lines in a
// value.
func continues(text string) bool {
	return strings.HasPrefix(text, "\t") || strings.HasPrefix(text, " >")
}

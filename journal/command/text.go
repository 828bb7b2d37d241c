package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// timeFormat shows milliseconds: what follows from what is often faster.
const timeFormat = "2006-01-02T15:04:05.000Z"

// maxSummary bounds what a line says of a fact's body, in bytes.
const maxSummary = 140

// printLine writes a fact as one line.
func printLine(w io.Writer, f fact.Fact) error {
	where := "node"
	if f.Pod.UID != "" {
		where = f.Pod.String()
	}
	if f.Container != "" {
		where += " " + f.Container
		if f.Attempt > 0 {
			where += fmt.Sprintf("#%d", f.Attempt)
		}
	}
	arrow := " "
	if fact.IsDecided(f.Body) {
		arrow = "→"
	}
	_, err := fmt.Fprintf(w, "%s %6d %s %s %s%s%s\n", f.When().UTC().Format(timeFormat), f.ID, where, arrow, f.Body.Kind(), summary(f.Body), because(f))
	return err
}

func because(f fact.Fact) string {
	if len(f.Because) == 0 {
		return ""
	}
	var ids []string
	for _, id := range f.Because {
		ids = append(ids, fmt.Sprint(id))
	}
	if len(ids) > 6 {
		ids = append(ids[:6], fmt.Sprintf("and %d more", len(ids)-6))
	}
	return " ← " + strings.Join(ids, " ")
}

// summary shows what a body has at its top, and one level below.
func summary(b fact.Body) string {
	data, err := json.Marshal(b)
	if err != nil {
		return ""
	}
	if p, ok := b.(fact.SpecSeen); ok && p.Object != nil {
		return fmt.Sprintf(" generation=%d by=%q source=%s", p.Object.Generation, p.By, p.Source)
	}
	if _, ok := b.(fact.Checkpoint); ok {
		return fmt.Sprintf(" bytes=%d", len(data))
	}
	var s strings.Builder
	describe(&s, data, 0)
	text := s.String()
	if len(text) > maxSummary {
		text = strings.ToValidUTF8(text[:maxSummary], "") + "…"
	}
	return text
}

// describe writes the fields of an object in their order, which has what matters
// most first, and those of objects in it; deeper ones are left out.
func describe(s *strings.Builder, object json.RawMessage, depth int) {
	in := json.NewDecoder(bytes.NewReader(object))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for in.More() {
		key, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return
		}
		name := fmt.Sprint(key)
		switch value[0] {
		case '{':
			if depth == 0 {
				describe(s, value, 1)
			}
		case '[':
			var list []json.RawMessage
			_ = json.Unmarshal(value, &list)
			fmt.Fprintf(s, " %s=[%d]", name, len(list))
		case '"':
			var v string
			if json.Unmarshal(value, &v) == nil && v != "" {
				fmt.Fprintf(s, " %s=%s", name, quoted(v))
			}
		case 'n':
		default:
			fmt.Fprintf(s, " %s=%s", name, number(name, string(value)))
		}
	}
}

// quoted shows a text on one line, without escape codes that came from a pod.
func quoted(v string) string {
	if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) {
		return fmt.Sprintf("%q", v)
	}
	return v
}

// durations are the fields that are nanoseconds on the wire.
var durations = []string{"took", "late", "delay", "waited", "connect", "tls", "sent", "firstByte", "body", "by", "cpuUsage", "throttledTime", "cpuUsed", "over"}

func number(key, text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && slices.Contains(durations, key) {
		return time.Duration(n).Round(time.Microsecond).String()
	}
	return text
}

// printJSON writes a fact as one JSON object a line.
func printJSON(w io.Writer, f fact.Fact) error {
	line, err := f.MarshalJSON()
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// format are the ways in which facts can be written.
type format struct {
	env  Env
	name string
}

func (f *format) write(x fact.Fact) error {
	if f.name == "json" {
		return printJSON(f.env.Out, x)
	}
	return printLine(f.env.Out, x)
}

func (f *format) check() error {
	if f.name != "" && f.name != "json" && f.name != "text" {
		return f.env.usagef("-o %s is not known; text and json are", f.name)
	}
	return nil
}

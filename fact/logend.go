package fact

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// MostLogEnd is how many bytes a [LogEnd] holds.
const MostLogEnd = 4 << 10

// LogEnd is the end of a log, whatever its lines say, without what looks like a secret. Its wire form is compressed.
type LogEnd struct {
	// Lines are the last lines, oldest first: at most [MostLogEnd] bytes together.
	Lines []string
	// At is when the runtime wrote each of them down, to the ms; none where that is not known.
	At []time.Time
	// All is set where the log has no other lines.
	All bool
}

// LogSaid is what the end of a log says.
type LogSaid struct {
	// Lines are those of the last lines that say most, oldest first, At when the runtime wrote each of them down; nil
	// where that is not known.
	Lines []string
	At    []time.Time
	// End has the last lines, whatever they say.
	End *LogEnd
}

// packed is the wire form: Text is base64 of DEFLATE (RFC 1951) of the lines, each with the ms since the line before
// it in front, or a minus sign where times are not known, and a blank.
type packed struct {
	Text []byte    `json:"text"`
	From time.Time `json:"from,omitzero"` // when the first line was written down
	All  bool      `json:"all,omitempty"`
}

// MarshalJSON writes the compressed form.
func (e LogEnd) MarshalJSON() ([]byte, error) {
	p := packed{All: e.All}
	var text strings.Builder
	for i, line := range e.Lines {
		since := "-"
		if len(e.At) == len(e.Lines) {
			since = strconv.FormatInt(e.At[i].Sub(e.At[max(i-1, 0)]).Milliseconds(), 10)
		}
		text.WriteString(since + " " + line + "\n")
	}
	if len(e.At) > 0 && len(e.At) == len(e.Lines) {
		p.From = e.At[0]
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(text.String())); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	p.Text = out.Bytes()
	return json.Marshal(p)
}

// mostUnpacked bounds what a compressed text comes to: the lines, and a time and a line's end for each byte of them at
// the worst.
const mostUnpacked = 4 * MostLogEnd

// UnmarshalJSON reads the compressed form. What is none, or comes to more than is ever written, is a LogEnd without
// lines: the rest of the fact stays readable.
func (e *LogEnd) UnmarshalJSON(raw []byte) error {
	*e = LogEnd{}
	var p packed
	if json.Unmarshal(raw, &p) != nil || len(p.Text) > mostUnpacked {
		return nil
	}
	text, ok := inflated(p.Text)
	if !ok {
		return nil
	}
	e.All = p.All
	at := p.From
	for line := range strings.Lines(text) {
		since, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		e.Lines = append(e.Lines, said)
		if ms, err := strconv.ParseInt(since, 10, 32); err == nil {
			at = at.Add(time.Duration(ms) * time.Millisecond)
			e.At = append(e.At, at)
		}
	}
	if len(e.At) != len(e.Lines) {
		e.At = nil
	}
	return nil
}

// inflated is a text without its compression; ok is false where it is none, or too long.
func inflated(compressed []byte) (text string, ok bool) {
	r := flate.NewReader(bytes.NewReader(compressed))
	all := make([]byte, mostUnpacked+1)
	n := 0
	for n < len(all) {
		got, err := r.Read(all[n:])
		n += got
		if err != nil {
			return string(all[:n]), err.Error() == "EOF"
		}
	}
	return "", false
}

// Failed reports whether the run did not end well.
func (b *Exited) Failed() bool { return b.ExitCode != 0 || b.Vanished }

// Hear takes what the end of its log says. Of a run that failed all of it is kept, where LastLines lack some.
func (b *Exited) Hear(said LogSaid, ended time.Time) {
	b.Say(said.Lines, said.At, ended)
	if end := said.End; end != nil && b.Failed() && (!end.All || len(end.Lines) > len(b.LastLines)) {
		b.LogEnd = end
	}
}

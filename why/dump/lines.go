package dump

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// plain writes lines of a log as kubectl logs --timestamps does, whatever form they are in. Lines
// without a time stay without.
func plain(text []byte) []byte {
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return nil
	}
	var b bytes.Buffer
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		line = bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), nil)
		if stamp, said, ok := ofRuntime(line); ok {
			b.WriteString(stamp)
			b.WriteByte(' ')
			line = said
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// ofRuntime reads a line as a runtime writes it into a node's file: "TIME stdout F text" of the
// runtime interface, {"log": "text\n", "stream": "stdout", "time": "TIME"} of Docker.
func ofRuntime(line []byte) (stamp string, said []byte, ok bool) {
	if bytes.HasPrefix(line, []byte(`{"log":`)) {
		var l struct{ Log, Stream, Time string }
		if json.Unmarshal(line, &l) == nil && l.Stream != "" && !parsed(l.Time).IsZero() {
			return l.Time, []byte(strings.TrimRight(l.Log, "\n")), true
		}
		return "", nil, false
	}
	parts := bytes.SplitN(line, []byte(" "), 4)
	if len(parts) < 3 || string(parts[1]) != "stdout" && string(parts[1]) != "stderr" || string(parts[2]) != "F" && string(parts[2]) != "P" || parsed(string(parts[0])).IsZero() {
		return "", nil, false
	}
	if len(parts) == 4 {
		said = parts[3]
	}
	return string(parts[0]), said, true
}

// lines counts when the last line of a log was written, where the node's clock says that.
func (m *moment) lines(text []byte) {
	text = bytes.TrimRight(text, "\n")
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	stamp, _, _ := bytes.Cut(last, []byte(" "))
	if t, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil && len(stamp) > len("2006-01-02T15:04:05Z") {
		m.seen(t.UTC())
	}
}

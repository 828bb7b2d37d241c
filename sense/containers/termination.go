package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	logs "k8s.io/cri-client/pkg/logs"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/words"
)

// Of a termination message so many bytes count, of a log in its place so many lines
// and bytes (kubelet: pkg/kubelet/container/runtime.go).
const maxMessage, maxMessageLines, maxMessageLog = 4 << 10, 80, 2 << 10

// TerminationMessage gives what a pod's status shows as the message of an exited
// container: the runtime's, then what the container left in its termination
// message file, or under FallbackToLogsOnError the end of its log when it failed
// without a word. The file counts up to 4096 bytes, the log up to 80 lines and
// 2048 bytes, both from the end (kubelet: pkg/kubelet/container/runtime.go).
//
// It reads the file now: the view must not be much older than the container's end.
func TerminationMessage(v ContainerView) string {
	if v.State != Exited {
		return ""
	}
	own := ownMessage(v)
	switch {
	case own == "":
		return v.Message
	case v.Message == "":
		return own
	}
	return v.Message + ": " + own
}

func ownMessage(v ContainerView) string {
	// What never ran has no log to fall back to.
	fallback := v.Recorded.MessagePolicy == v1.TerminationMessageFallbackToLogsOnError &&
		v.ExitCode != 0 && v.Reason != "ContainerCannotRun"
	if file := messageFile(v); file != "" {
		text, err := endOfFile(file, maxMessage)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Sprintf("Error on reading termination log %s: %v", file, err)
		case len(text) > 0:
			return string(text)
		}
	}
	if !fallback {
		return ""
	}
	return logTail(v.LogPath)
}

// messageFile is the host's side of the mount at the recorded path.
func messageFile(v ContainerView) string {
	if v.Recorded.MessagePath == "" {
		return ""
	}
	inside := messagePath(v.Recorded.MessagePath)
	for _, m := range v.Mounts {
		if m.ContainerPath == inside {
			return m.HostPath
		}
	}
	return ""
}

func logTail(path string) string {
	text, err := endOfLog(path, logs.LogOptions{}, maxMessageLines, maxMessageLog)
	if err != nil {
		return fmt.Sprintf("Error on reading termination message from logs: %v", err)
	}
	return text
}

// LastSaid reads the end of a container's log, as it is now: the lines of it that say most ([words.Keep]), and all,
// without what looks like a secret. Empty where there is none to read.
func LastSaid(v ContainerView) fact.LogSaid {
	if v.LogPath == "" {
		return fact.LogSaid{}
	}
	text, whole, err := lastLogLines(v.LogPath)
	if err != nil {
		return fact.LogSaid{}
	}
	text, at := withoutTimes(strings.Trim(text, "\n"))
	text = strings.ToValidUTF8(redact.Text(text), "")
	if strings.TrimSpace(text) == "" {
		return fact.LogSaid{}
	}
	lines := strings.Split(text, "\n")
	if len(at) != len(lines) {
		at = nil // some were a secret together
	}
	said := fact.LogSaid{End: endOf(lines, at, whole)}
	kept, which := words.Keep(lines, fact.MostLastLines, fact.MostLastBytes)
	said.Lines = kept
	for _, n := range which {
		if at != nil {
			said.At = append(said.At, at[n])
		}
	}
	return said
}

// endOf has the last of some lines; whole says that the log has no others.
func endOf(lines []string, at []time.Time, whole bool) *fact.LogEnd {
	from, size := len(lines), 0
	for from > 0 && size+len(lines[from-1])+1 <= fact.MostLogEnd {
		from--
		size += len(lines[from]) + 1
	}
	if from == len(lines) {
		return nil // one line is longer than all that is kept
	}
	end := &fact.LogEnd{Lines: lines[from:], All: whole && from == 0}
	if at != nil {
		end.At = at[from:]
	}
	return end
}

// lastLogLines reads the last lines of a log, whole ones only: a part of a line may lack what tells a secret. A line
// that is too long stands in the log as many records, and may hide what was said before it: then more is read. The first of
// many records may be the rest of a line, so its line is left out. whole says that the log has no others.
func lastLogLines(path string) (lines string, whole bool, err error) {
	const records, most, longest = 100 + 1, 28 << 10, 8 << 10
	for _, read := range []int64{records, 10 * records} { // of 16 KiB each, and a log is rotated at 10 MiB
		text := wholeLines{most: most, longest: longest}
		if err := logs.ReadLogs(Quiet(context.Background()), path, "", &logs.LogOptions{Timestamp: true, TailLines: &read}, nil, &text, &text); err != nil {
			return "", false, err
		}
		if text.end(); !text.tooLong || text.lines >= fact.MostLastLines || read > records {
			all := text.records < read
			if !all && !text.cut {
				text.dropFirst()
			}
			return string(text.buf), all && !text.tooLong && !text.cut, nil
		}
	}
	return "", false, nil
}

// withoutTimes takes off what each line begins with where times were asked for; nil where
// one has none.
func withoutTimes(text string) (string, []time.Time) {
	lines := strings.Split(text, "\n")
	var all []time.Time
	for i, line := range lines {
		first, rest, _ := strings.Cut(line, " ")
		if t, err := time.Parse(time.RFC3339Nano, first); err == nil {
			lines[i], all = rest, append(all, t.UTC().Truncate(time.Millisecond))
		}
	}
	if len(all) != len(lines) {
		all = nil
	}
	return strings.Join(lines, "\n"), all
}

// endOfLog reads the last lines of a log, and of those the last bytes.
func endOfLog(path string, o logs.LogOptions, lines int64, most int) (string, error) {
	text := lastBytes{most: most}
	o.TailLines = &lines
	err := logs.ReadLogs(Quiet(context.Background()), path, "", &o, nil, &text, &text)
	return text.buf.String(), err
}

// Tail returns the last lines of a log, at most so many and so many bytes, and when each was written; at is nil where
// that is not known.
func Tail(path string, lines int64, most int) (said []string, at []time.Time, err error) {
	text, err := endOfLog(path, logs.LogOptions{Timestamp: true}, lines, most)
	if err != nil {
		return nil, nil, err
	}
	if len(text) == most {
		_, text, _ = strings.Cut(text, "\n") // the first one is cut off
	}
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil, nil, nil
	}
	text, at = withoutTimes(text)
	return strings.Split(text, "\n"), at, nil
}

// endOfFile reads the last bytes of a file.
func endOfFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(max(info.Size()-most, 0), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// wholeLines keeps the last lines of what is written to it, so many bytes of them. In place of a line that is too long it
// says so.
type wholeLines struct {
	most, longest int

	buf     []byte
	records int64  // how many were written, of which a line may have many
	lines   int    // how many were kept
	tooLong bool   // one was not
	cut     bool   // the first ones are gone
	line    []byte // the beginning of the line that is being written
	size    int    // how much of it was written
}

func (w *wholeLines) Write(p []byte) (int, error) {
	w.records++
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		w.line = append(w.line, part[:min(len(part), w.longest+1-min(len(w.line), w.longest+1))]...)
		w.size += len(part)
		if ended {
			w.end()
		}
		rest = after
	}
	return len(p), nil
}

// end ends a line.
func (w *wholeLines) end() {
	if w.size == 0 {
		return
	}
	if w.size > w.longest {
		w.tooLong = true
		at, _, _ := bytes.Cut(w.line, []byte(" "))
		w.line = fmt.Appendf(at, " [a line of %d bytes, too long to be kept]", w.size-len(at)-1)
	} else {
		w.lines++
	}
	w.buf = append(append(w.buf, w.line...), '\n')
	w.line, w.size = w.line[:0], 0
	for len(w.buf) > w.most {
		w.dropFirst()
	}
}

// dropFirst drops the first line that was kept.
func (w *wholeLines) dropFirst() { w.buf, w.cut = w.buf[bytes.IndexByte(w.buf, '\n')+1:], true }

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	buf  bytes.Buffer
	most int
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.buf.Write(p)
	if over := l.buf.Len() - l.most; over > 0 {
		l.buf.Next(over)
	}
	return len(p), nil
}

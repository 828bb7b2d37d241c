package dump

import (
	"bytes"
	"regexp"
)

// Around each container's log kubectl cluster-info dump writes a line (kubectl,
// pkg/cmd/clusterinfo/clusterinfo_dump.go, printContainer).
var startOfLog = regexp.MustCompile(`(?m)^==== START logs for container (\S+) of pod (\S+)/(\S+) ====\n`)

func hasStream(text []byte) bool { return startOfLog.Match(text) }

// stream reads what kubectl cluster-info dump prints: objects, and logs between them.
func (r *reader) stream(name string, text []byte) bool {
	for {
		at := startOfLog.FindSubmatchIndex(text)
		if at == nil {
			r.between(name, text)
			return true
		}
		r.between(name, text[:at[0]])
		container, space, pod := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		text = text[at[1]:]
		end := append(append([]byte("==== END"), []byte(" logs for container ")...), container...)
		end = append(append(append(append(append(end, " of pod "...), space...), '/'), pod...), " ====\n"...)
		content, rest, found := bytes.Cut(text, end)
		if !found {
			content, rest = text, nil // it was cut short
		}
		text = rest
		if len(bytes.TrimSpace(content)) > 0 && !bytes.HasPrefix(content, []byte("Create log request error: ")) && !bytes.HasPrefix(content, []byte("Request log error: ")) {
			r.keepLog(string(space), string(pod), string(container), false, lastOf(content))
		}
	}
}

// between reads the objects between two logs.
func (r *reader) between(name string, text []byte) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
	case text[0] == '{':
		r.jsonDocuments(name, text)
	default:
		r.yamlDocuments(name, text)
	}
}

package dump

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// Around each container's log kubectl cluster-info dump writes a line (kubectl,
// pkg/cmd/clusterinfo/clusterinfo_dump.go, printContainer).
var (
	startOfLog = regexp.MustCompile(`(?m)^==== START logs for container (\S+) of pod (\S+)/(\S+) ====\n`)
	endOfLog   = regexp.MustCompile(`==== END logs for container (\S+ of pod \S+/\S+) ====\n`)
)

func hasStream(text []byte) bool { return startOfLog.Match(text) }

// stream reads what kubectl cluster-info dump prints: objects, and logs between them. Whoever writes a log can write the
// line that ends it, and objects of others behind that: from a log on that ends twice nothing is read.
func (r *reader) stream(name string, text []byte) bool {
	ends := map[string][][]int{}
	for _, at := range endOfLog.FindAllSubmatchIndex(text, -1) {
		whose := string(text[at[2]:at[3]])
		ends[whose] = append(ends[whose], at)
	}
	for from := 0; ; {
		at := startOfLog.FindSubmatchIndex(text[from:])
		if at == nil {
			r.between(name, text[from:])
			return true
		}
		r.between(name, text[from:from+at[0]])
		part := func(i int) string { return string(text[from+at[2*i] : from+at[2*i+1]]) }
		container, space, pod := part(1), part(2), part(3)
		from += at[1]
		whose := fmt.Sprintf("%s of pod %s/%s", container, space, pod)
		own := slices.DeleteFunc(ends[whose], func(end []int) bool { return end[0] < from })
		if len(own) > 1 {
			r.miss(name, "the log of container "+whose+" ends in it more than once; it and what follows may be somebody else's words")
			return true
		}
		content, next := text[from:], len(text) // where it was cut short
		if len(own) == 1 {
			content, next = text[from:own[0][0]], own[0][1]
		}
		from = next
		if len(bytes.TrimSpace(content)) > 0 && !bytes.HasPrefix(content, []byte("Create log request error: ")) && !bytes.HasPrefix(content, []byte("Request log error: ")) {
			r.keepLog(space, pod, container, false, lastOf(content))
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

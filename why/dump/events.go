package dump

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/record"
)

// mostEvents bounds those of tables.
const mostEvents = 100_000

// told is an event as a table shows it: its times are how long ago it was.
type told struct {
	file, space, kind, name string
	v1.Event
	last, first time.Duration
}

var (
	// age is a duration as kubectl rounds it (apimachinery, duration.HumanDuration).
	age = regexp.MustCompile(`^(?:(\d{1,4})y)?(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$`)
	// repeated is the age of an event that came several times.
	repeated = regexp.MustCompile(`^(\S+) \(x(\d{1,8}) over (\S+)\)$`)
	tableTop = regexp.MustCompile(`^(?:NAMESPACE +)?LAST SEEN +(?:TYPE|FIRST SEEN)[A-Z ]*MESSAGE`)
)

func ago(text string) (time.Duration, bool) {
	m := age.FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, false
	}
	var d time.Duration
	for i, unit := range []time.Duration{365 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi("0" + m[i+1])
		d += min(time.Duration(n), 1<<62/unit/8) * unit
	}
	return d, true
}

// column is one of a table: its name, and where it begins.
type column struct {
	name string
	at   int
}

var heading = regexp.MustCompile(`\S+(?: \S+)*`)

// columns are those of a table's first line, which two spaces part at least.
func columns(top string) (all []column) {
	for _, at := range heading.FindAllStringIndex(top, -1) {
		all = append(all, column{top[at[0]:at[1]], at[0]})
	}
	return all
}

// cells are what a line has in the columns; what the last one has goes on to the line's end.
func cells(line string, all []column) map[string]string {
	row := map[string]string{}
	for i, c := range all {
		to := len(line)
		if i+1 < len(all) {
			to = min(to, all[i+1].at)
		}
		if c.at < to {
			row[c.name] = strings.TrimSpace(line[c.at:to])
		}
	}
	return row
}

// isTable reports whether a text is what kubectl get events prints.
func isTable(text []byte) bool { return tableTop.Match(text) }

// table reads what kubectl get events prints, also with -A and -o wide.
func (r *reader) table(name, text string) (known bool) {
	var all []column
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if tableTop.MatchString(line) {
			all = columns(line)
			continue
		}
		row := cells(line, all)
		kind, object, ok := strings.Cut(row["OBJECT"], "/")
		last, dated := ago(row["LAST SEEN"])
		if !ok || !dated || len(r.events) >= mostEvents {
			continue
		}
		e := told{file: name, space: row["NAMESPACE"], kind: kind, name: object, last: last, first: last}
		e.Type, e.Reason, e.Message, e.Count = row["TYPE"], row["REASON"], row["MESSAGE"], 1
		e.Source.Component, _, _ = strings.Cut(row["SOURCE"], ",")
		if first, ok := ago(row["FIRST SEEN"]); ok {
			e.first = first
		}
		if n, err := strconv.ParseInt(row["COUNT"], 10, 32); err == nil {
			e.Count = int32(n)
		}
		e.InvolvedObject.FieldPath = row["SUBOBJECT"]
		r.events = append(r.events, e)
		known = true
	}
	return known
}

// spaceIn is the namespace that a path names, or the only one that has pods.
func (r *reader) spaceIn(name string) string {
	only := ""
	parts := strings.FieldsFunc(name, func(c rune) bool { return c == '/' || c == '.' || c == '_' })
	for _, p := range r.pods {
		if slices.Contains(parts, p.space) {
			return p.space
		}
		if only != "" && only != p.space {
			only = "default"
		} else if only == "" {
			only = p.space
		}
	}
	return only
}

// placeEvents puts the events of tables into the case, with the objects that they are about.
// Where the dump has a whole list of them, theirs are the same, rounded.
func (r *reader) placeEvents() {
	for i, e := range r.events {
		if e.space == "" {
			e.space = r.spaceIn(e.file)
		}
		if slices.Contains(r.into.Held, e.space+"/events") {
			continue
		}
		at := slices.IndexFunc(record.Kinds, func(k record.Kind) bool { return strings.EqualFold(k.Kind, e.kind) })
		if at < 0 {
			continue
		}
		k := record.Kinds[at]
		e.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
		e.Namespace, e.Event.Name = e.space, fmt.Sprintf("%s.table%d", e.name, i)
		e.LastTimestamp, e.FirstTimestamp = metav1.NewTime(r.into.Time.Add(-e.last)), metav1.NewTime(r.into.Time.Add(-e.first))
		e.InvolvedObject.APIVersion, e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name = k.Version, k.Kind, e.space, e.name
		if !k.Namespaced {
			e.InvolvedObject.Namespace = ""
		}
		e.InvolvedObject.UID = r.uid(k, e.InvolvedObject.Namespace, e.name)
		event, _ := record.KindOf("v1", "Event")
		r.keepMade(event, e.Event)
	}
}

// uid is that of an object of the dump; one that is not there gets a name in its place.
func (r *reader) uid(k record.Kind, space, name string) types.UID {
	key := k.Held(space) + "/" + name
	if i, there := r.at[key]; there {
		var o head
		if json.Unmarshal(r.into.Objects[i], &o) == nil && o.Metadata.UID != "" {
			return types.UID(o.Metadata.UID)
		}
	}
	return types.UID(key)
}

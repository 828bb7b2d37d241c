package answer

import (
	"slices"
	"strings"
)

// Role says what a verdict quotes something for.
type Role string

// Roles of quotes.
const (
	RoleLog    Role = "log"    // what a log gives as the reason
	RoleEnd    Role = "end"    // what was said last before an end, as its reason
	RoleAnswer Role = "answer" // what an application answered
	RoleWords  Role = "words"  // other words that the verdict rests on
	RoleNoted  Role = "noted"  // what a log says meanwhile, and calls no error
	RoleLast   Role = "last"   // the last of a log that is no error: nothing follows from it
	rolePlace  Role = "place"
	roleAwaits Role = "awaits"
)

// Quote is what a verdict quotes of the pod's own words.
type Quote struct {
	Role Role   `json:"role"`
	Text string `json:"text"`
}

// Need is a place that a verdict says the container needs: a name, an address or host:port. Awaited is set where it
// waits there.
type Need struct {
	Place   string `json:"place"`
	Awaited bool   `json:"awaited,omitempty"`
}

// Told are the typed fields of what a verdict or hop says.
type Told struct {
	Quotes []Quote `json:"quotes,omitempty"`
	Needs  []Need  `json:"needs,omitempty"`
}

// marks begin what is marked in a text by its role, unmark ends it. They are of private use, so that nothing which an
// application says has one: [prose.Brief] leaves them out.
var marks = map[rune]Role{
	'\uE000': RoleLog, '\uE001': RoleEnd, '\uE002': RoleAnswer, '\uE003': RoleWords, '\uE004': RoleNoted, '\uE005': RoleLast, '\uE006': rolePlace, '\uE007': roleAwaits,
}

const unmark = '\uE00F'

// Mark returns a quote as it is to stand in a text. [Verdict.Say] and [Hop.Say] take the mark out again and keep
// what it marks.
func (r Role) Mark(quote string) string {
	for mark, role := range marks {
		if role == r && quote != "" {
			return string(mark) + quote + string(unmark)
		}
	}
	return quote
}

// MarkNeed is the same of a place that is needed.
func MarkNeed(n Need) string {
	if n.Awaited {
		return roleAwaits.Mark(n.Place)
	}
	return rolePlace.Mark(n.Place)
}

// read takes the marks out of a text, and adds what they mark.
func (t *Told) read(text string) string {
	if !strings.ContainsRune(text, unmark) {
		return text
	}
	var plain, marked strings.Builder
	var role Role
	for _, r := range text {
		switch begins, is := marks[r]; {
		case is:
			role = begins
			marked.Reset()
		case r == unmark:
			t.add(role, marked.String())
			role = ""
		default:
			plain.WriteRune(r)
			if role != "" {
				marked.WriteRune(r)
			}
		}
	}
	return plain.String()
}

func (t *Told) add(role Role, text string) {
	switch role {
	case "":
	case rolePlace, roleAwaits:
		t.Needs = append(t.Needs, Need{text, role == roleAwaits})
	case RoleAnswer:
		t.Quotes = append(t.Quotes, Quote{role, strings.ReplaceAll(strings.Trim(text, `"`), `\"`, `"`)})
	default:
		t.Quotes = append(t.Quotes, Quote{role, text})
	}
}

// Words are what is quoted that something may follow from, and the places that are needed, as one text.
func (t Told) Words() string {
	var all []string
	for _, n := range t.Needs {
		if n.Awaited {
			all = append(all, "waits for "+n.Place)
		} else {
			all = append(all, n.Place)
		}
	}
	for _, q := range t.Quotes {
		if q.Role != RoleLast {
			all = append(all, q.Text)
		}
	}
	return strings.Join(all, "\n")
}

// QuotesLog reports whether something of a log is quoted: of its reasons, or whatever it says.
func (t Told) QuotesLog(roles ...Role) bool {
	return slices.ContainsFunc(t.Quotes, func(q Quote) bool {
		return q.Role == RoleLog || q.Role == RoleNoted || q.Role == RoleLast || slices.Contains(roles, q.Role)
	})
}

// Names reports whether a place is needed, or stands among what is quoted.
func (t Told) Names(place string) bool { return strings.Contains(t.Words(), place) }

// Unmarked is a text without its marks.
func Unmarked(text string) string { return (&Told{}).read(text) }

// As is a hop to what is wrong by a verdict.
func (h Hop) As(v Verdict) Hop {
	h.Cause, h.Text, h.Told, h.Chain, h.Fixes = v.Cause, v.Text, v.Told, v.Chain, v.Fixes
	return h
}

// Say gives a hop its text.
func (h *Hop) Say(text string) {
	h.Told = Told{}
	h.Text = h.Told.read(text)
}

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// RowKind says what a row of an answer is.
type RowKind string

// The rows of an answer, in their order.
const (
	RowSubject  RowKind = "subject"  // Title is who, Tag the symptom
	RowCause    RowKind = "cause"    // the one sentence
	RowKnown    RowKind = "known"    // the cause's id, and how it is known
	RowAlike    RowKind = "alike"    // the pods that have the same
	RowCommon   RowKind = "common"   // what those have in common that fail alike
	RowEarlier  RowKind = "earlier"  // how many links are left out
	RowLink     RowKind = "link"     // a link of the chain
	RowHop      RowKind = "hop"      // another pod or Service that the chain leads to, or that suffers: Tag; what shows its trouble follows, with times
	RowWords    RowKind = "words"    // a last line of the log
	RowWorse    RowKind = "worse"    // what contributed
	RowRuledOut RowKind = "ruledOut" // what was looked at and ruled out
	RowDo       RowKind = "do"       // something to do; Tag says what it does to what runs
	RowCommand  RowKind = "command"  // the command for it
	RowWell     RowKind = "well"     // how many others are well
	RowGap      RowKind = "gap"      // a time that nobody saw
)

// Row is one thing that an answer says to people, with the facts that it tells of. The
// text form writes rows one below the other; what shows them in another way says the
// same in the same order.
type Row struct {
	Kind RowKind `json:"kind"`
	// Title is the word that the row's section begins with, on its first row only.
	Title string `json:"title,omitempty"`
	Tag   string `json:"tag,omitempty"`
	Text  string `json:"text"`
	// Line is the whole line of a log where Text is what is shown of it: who logged it is found by that.
	Line string `json:"line,omitempty"`
	// At and Until are the times that a link or a gap begins with.
	At    time.Time `json:"at,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Facts []fact.ID `json:"facts,omitempty"`
	// Pod is whose facts these are, where the answer is about several pods.
	Pod string `json:"pod,omitempty"`
	// Good is set for a symptom that is none.
	Good bool `json:"good,omitempty"`
}

// Rows gives what the answer says to people. Wide leaves nothing out.
func (a *Answer) Rows(wide bool) []Row {
	var rows []Row
	if !wide {
		a = a.folded()
	}
	for n, v := range a.Verdicts {
		sym := a.symptom(v.Symptom)
		before := prose.Whether(wide, nil, a.Verdicts[:n])
		own := rowsOf(a, sym, v, before, wide)
		for i := range own {
			own[i].Pod = sym.Pod
		}
		rows = append(rows, own...)
	}
	if a.Well > 0 {
		verb := prose.Whether(a.Well > 1, "are", "is")
		rows = append(rows, Row{Kind: RowWell, Text: fmt.Sprintf("%s %s well or done.", prose.Plural(a.Well, "other pod"), verb)})
	}
	for i, g := range a.Journal.Gaps {
		if !slices.Contains(a.Journal.Gaps[:i], g) {
			rows = append(rows, Row{Kind: RowGap, At: g.From, Until: g.To, Text: g.Reason})
		}
	}
	for i := range rows { // whatever made them: this is what people are shown
		r := &rows[i]
		r.Title, r.Tag, r.Text, r.Line = prose.OneLine(r.Title), prose.OneLine(r.Tag), prose.OneLine(r.Text), prose.Shown(r.Line)
	}
	return rows
}

// rowsOf leaves out what stands in the verdicts before.
func rowsOf(a *Answer, sym Symptom, v Verdict, before []Verdict, wide bool) []Row {
	subject := Row{Kind: RowSubject, Title: strings.ToLower(a.Subject.Kind) + " " + a.subject(), Tag: string(sym.Kind), Good: sym.Kind == Healthy || sym.Kind == Completed}
	if sym.Text != "" {
		subject.Text = sym.told() + ago(a.AsOf, sym)
	}
	rows := append([]Row{subject}, causeRows(v)...)
	rows = append(rows, Row{Kind: RowKnown, Text: "cause: " + string(v.Cause) + ", " + howKnown(v) + steady(a.AsOf, v)})
	if len(sym.alike) > 1 {
		rows = append(rows, Row{Kind: RowAlike, Title: "all of them", Text: prose.Some(sym.alike) + "; -o wide shows each"})
	}
	rows = append(rows, commonRows(v.InCommon)...)
	rows = append(rows, chainRows(v.Chain, wide)...)
	said := strings.Join(texts(v), " ")
	rows = append(rows, hopRows("leads to", v.Hops, said, wide)...)
	rows = append(rows, hopRows("takes down", v.TakesDown, "", wide)...)
	rows = append(rows, wordRows(v.LastWords, said, wide)...)
	news := slices.DeleteFunc(slices.Clone(v.Contributing), func(n Note) bool {
		return tells(v.Text, n.Text) || repeats(v.Text, n.Text) || slices.ContainsFunc(before, func(o Verdict) bool { return o.Cause == n.Cause && tells(o.Text, n.Text) })
	})
	title := prose.Whether(sym.Kind == Healthy && v.Cause == None, "note", "contributed") // nothing is wrong that it could contribute to
	rows = append(rows, noteRows(RowWorse, title, news, wide)...)
	rows = append(rows, noteRows(RowRuledOut, "ruled out", v.RuledOut, wide)...)
	steps := v.Steps()
	if slices.ContainsFunc(before, func(o Verdict) bool { return slices.EqualFunc(o.Steps(), steps, sameStep) }) {
		return rows
	}
	return append(rows, fixRows(steps)...)
}

func sameStep(a, b Fix) bool { return a.Text == b.Text && a.Command == b.Command }

// causeRows say the cause: where it is another pod's, that first, and then what the pod that
// was asked about suffers from it. How the one leads to the other is told below them.
func causeRows(v Verdict) []Row {
	var rows []Row
	for _, text := range texts(v) {
		row := Row{Kind: RowCause, Text: text}
		for _, l := range v.Chain {
			row.Facts = append(row.Facts, l.Fact)
		}
		if text != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// texts are what a verdict says, as one sentence after the other: see causeRows.
func texts(v Verdict) []string {
	if own := strings.Join(v.Parts.Then, " "); len(v.Hops) > 0 && v.Parts.What != "" {
		return []string{v.Parts.What, strings.TrimSpace(own + " " + v.Missing)}
	}
	return []string{v.Text}
}

// short is how much of a quote may stand twice: what is that short may be in a text by chance.
const short = 20

// unquoted is what led to a hop without the quote in brackets at its end, where that is said
// already.
func unquoted(by, said string) string {
	for i := range by {
		quote, ok := strings.CutSuffix(by[i:], ")")
		if quote, is := strings.CutPrefix(quote, " ("); ok && is && strings.Count(by[:i], "(") == strings.Count(by[:i], ")") && repeats(said, quote) {
			return by[:i]
		}
	}
	return by
}

// repeats says whether a quote has nothing that a text does not say, but for how it begins or ends: a
// log and an answer word one error differently.
func repeats(said, quote string) bool {
	said, quote = bare.Replace(said), bare.Replace(strings.TrimSuffix(quote, "…"))
	if len(quote) < short {
		return false
	}
	run := min(len(quote), max(alike, 2*len(quote)/3))
	for at := 0; at+run <= len(quote); at++ {
		if strings.Contains(said, quote[at:at+run]) {
			return true
		}
	}
	return false
}

// alike is how long what two quotes share has to be at least, to be of one error.
const alike = 36

var bare = strings.NewReplacer(`\`, "", `"`, "", "'", "", "`", "")

// ledTo is what led to a hop, without the name of its pod, which stands before it, and without a
// quote that is said already.
func ledTo(h Hop, said string) string {
	by := unquoted(h.By, said)
	if h.Pod == "" {
		return by
	}
	return strings.TrimSuffix(strings.Replace(by+" ", ", which leads to "+h.Pod+" ", ", which leads to it ", 1), " ")
}

// tells says whether a text has what a sentence says.
func tells(text, sentence string) bool {
	return sentence != "" && strings.Contains(text, strings.TrimSuffix(sentence, "."))
}

// shownOfHop is how many links of another pod's chain are shown.
const shownOfHop = 4

// steady says for how long the answer has been the same.
func steady(now time.Time, v Verdict) string {
	if v.SteadySince.IsZero() {
		return ""
	}
	return fmt.Sprintf("; the same answer for at least %s", prose.Span(now.Sub(v.SteadySince)))
}

// hopRows tell of the pods that a verdict leads to or takes down, each with what shows its
// trouble, unless that is said already.
func hopRows(title string, hops []Hop, said string, wide bool) []Row {
	var rows []Row
	for _, h := range hops {
		name := cmp.Or(h.Policy, h.Pod, h.Job, h.Service)
		row := Row{Kind: RowHop, Tag: name, Text: fmt.Sprintf("%s: %s.", name, ledTo(h, said))}
		if !tells(said, h.Text) {
			row.Text += " " + h.Text
		}
		if len(rows) == 0 {
			row.Title = title
		}
		rows = append(rows, row)
		chain := prose.Whether(wide, h.Chain, h.Chain[max(0, len(h.Chain)-shownOfHop):])
		for _, l := range chain {
			rows = append(rows, Row{Kind: RowHop, Tag: row.Tag, At: l.At, Text: l.Text})
		}
	}
	return rows
}

// ago says how long the symptom is over, or that it goes on.
func ago(now time.Time, sym Symptom) string {
	if sym.Last.IsZero() || sym.Kind == Healthy || sym.Kind == NotServing || now.Sub(sym.Last) < time.Second {
		return ""
	}
	most := prose.Whether(sym.Count > 1 || sym.Kind == NotStarting, ", most recently ", ", ")
	return most + prose.Span(now.Sub(sym.Last)) + " ago"
}

func howKnown(v Verdict) string {
	switch {
	case v.Certainty == Recorded && v.Basis == fact.Told:
		return "recorded: " + v.By + " said so itself"
	case v.Certainty == Recorded && v.By != "":
		return "recorded: seen by the kernel's, the runtime's or the API server's own word"
	}
	switch v.Certainty {
	case Recorded:
		return "recorded by the node"
	case Inferred:
		return "inferred (rule " + v.Rule + ")"
	}
	return prose.Whether(v.Cause == None, "no problem found, but few checks were possible", "not enough evidence")
}

// shownLinks is how many links of a chain fit beside the rest on one screen.
const shownLinks = 7

func chainRows(chain []Link, wide bool) []Row {
	var rows []Row
	if n := len(chain) - shownLinks; !wide && n > 0 {
		rows = append(rows, Row{Kind: RowEarlier, Text: fmt.Sprintf("(%d earlier; -o wide shows all)", n)})
		chain = chain[n:]
	}
	for _, l := range chain {
		r := Row{Kind: RowLink, At: l.At, Text: l.Text, Facts: []fact.ID{l.Fact}}
		if wide {
			r.Tag = fmt.Sprintf("[%s #%d]", l.Kind, l.Fact)
			if l.Fact == 0 { // of the API
				r.Tag = fmt.Sprintf("[%s]", l.Kind)
			}
		} else {
			r.Text = brief(l)
		}
		rows = append(rows, r)
	}
	return rows
}

// brief is a link's text on one line: of an attempt how many there were stands last, and of what
// was said there the error.
func brief(l Link) string {
	return prose.Whether(l.Kind == (fact.Probed{}).Kind(), prose.Midst(l.Text, 120), prose.Wrapped(l.Text, 96))
}

// shownWords is how many of the last lines of a log fit beside the rest, wordsLong how much of each.
const shownWords, wordsLong = 4, 96

// wordRows are the last lines of a log, without those that are said already, and without the probe's
// own requests, of which the chain tells.
func wordRows(lines []string, said string, wide bool) []Row {
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	if !wide {
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return strings.Contains(line, "kube-probe/") || repeats(said, strings.TrimSpace(logline.Message(line)))
		})
		lines = slices.CompactFunc(lines, logline.Alike)
	}
	if len(lines) > shownWords && !wide {
		lines, _ = words.Keep(lines, shownWords, 1<<20)
	}
	var rows []Row
	for _, line := range lines {
		gist := prose.Brief(line, len(line))
		if most := wordsLong * max(1, 3-len(lines)); len(line) > most && !wide { // a line or two may be longer
			gist = prose.Midst(logline.Message(line), most) // what a logger put around it goes first
		}
		row := Row{Kind: RowWords, Text: gist}
		if row.Text != line {
			row.Line = line
		}
		rows = append(rows, row)
	}
	return titled("last log", rows)
}

func noteRows(kind RowKind, title string, notes []Note, wide bool) []Row {
	var rows []Row
	for _, n := range notes {
		r := Row{Kind: kind, Text: fmt.Sprintf("%s: %s", n.Cause, n.Text), Facts: n.Facts}
		if wide && len(n.Facts) > 0 {
			r.Text += fmt.Sprintf(" %v", n.Facts)
		}
		rows = append(rows, r)
	}
	return titled(title, rows)
}

// tags say to people what a fix does: what restarts a container or changes its
// limits changes something that runs.
var tags = map[Risk]string{Inspect: "inspect", Safe: "safe", Restarts: "mutating", Limits: "mutating", Destructive: "destructive"}

// tag is that of a fix. A pod that no controller makes can only be deleted and created again.
func tag(f Fix) string {
	return prose.Whether(strings.Contains(f.Command, "kubectl replace --force"), "recreates", tags[f.Risk])
}

func fixRows(fixes []Fix) []Row {
	var rows []Row
	for _, f := range fixes {
		rows = append(rows, Row{Kind: RowDo, Tag: "[" + tag(f) + "]", Text: f.Text})
		if f.Command != "" {
			rows = append(rows, Row{Kind: RowCommand, Text: f.Command})
		}
	}
	return titled("do", rows)
}

func titled(title string, rows []Row) []Row {
	if len(rows) > 0 {
		rows[0].Title = title
	}
	return rows
}

package web

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"time"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// Overview is what is not well, in the order in which it needs a person. Each leads to
// its own page, which the server of this one has at the same address.
type Overview struct {
	// Namespace is what it is about; empty: all.
	Namespace string
	AsOf      time.Time
	Answers   []answer.Answer
	// Missing says who did not answer.
	Missing error
}

// ill is a pod, or what stands for several, with why it needs somebody.
type ill struct {
	of      answer.Subject
	reasons []reason
}

type reason struct {
	symptom answer.Symptom
	verdict answer.Verdict
}

// sorted are those that need somebody, and how many do not.
func (o Overview) sorted() (all []ill, well int) {
	for _, a := range o.Answers {
		one := ill{of: a.Subject}
		for i, v := range a.Verdicts {
			if !answer.WellOrDone(a.Symptoms[i], v) {
				one.reasons = append(one.reasons, reason{a.Symptoms[i], v})
			}
		}
		switch {
		case len(one.reasons) > 0:
			all = append(all, one)
		case len(a.Verdicts) == 0:
			well += a.Well
		default:
			well++
		}
	}
	return all, well
}

// overview is the whole page: policy, title, style, title, sum, list.
const overview = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main class="ill">
<h1>%s</h1>
<p class="known">%s</p>
%s</main>
</body>
</html>
`

// WriteOverview writes an overview as one HTML file. The error is the writer's.
func WriteOverview(w io.Writer, o Overview) error {
	title := "What is not well in " + cmp.Or(o.Namespace, "all namespaces")
	all, well := o.sorted()
	var list strings.Builder
	if o.Missing != nil {
		fmt.Fprintf(&list, "<p class=\"bad\" role=\"status\">Not all could be asked: %s</p>\n", markup(o.Missing.Error()))
	}
	for _, c := range answer.InCommon(o.Answers) {
		name := c.Name
		if c.Kind == answer.CommonRevision {
			name = c.Namespace + "/" + name
		}
		fmt.Fprintf(&list, "<article class=\"common\"><h2>In common: %s</h2>\n<div>%s <small>cause: %s, %s</small></div>\n</article>\n",
			markup(name), markup(c.Text), markup(string(c.Cause)), markup(string(c.Certainty)))
	}
	for _, one := range all {
		o.tell(&list, one)
	}
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(style))
	_, err := fmt.Fprintf(w, overview, html.EscapeString(policy), markup(title), style, markup(title),
		markup(sum(len(all), well)+" As of "+o.AsOf.UTC().Format("2006-01-02 15:04:05")+" UTC."), list.String())
	return err
}

func sum(ill, well int) string {
	switch {
	case ill+well == 0:
		return "There are no pods."
	case ill == 0:
		return "All is well: " + prose.Plural(well, "pod") + "."
	}
	return fmt.Sprintf("%d of %s, the worst first.", ill, prose.Plural(ill+well, "pod"))
}

func (o Overview) tell(w io.Writer, one ill) {
	kind := strings.ToLower(one.of.Kind)
	of := url.Values{"namespace": {one.of.Namespace}, "kind": {kind}, "name": {one.of.Name}}
	name := one.of.Name
	if one.of.Namespace != "" {
		name = one.of.Namespace + "/" + name
	}
	fmt.Fprintf(w, "<article><h2><a href=\"page?%s\">%s %s</a></h2>\n", html.EscapeString(of.Encode()), markup(kind), markup(name))
	for _, r := range one.reasons {
		known := fmt.Sprintf("cause: %s, %s", r.verdict.Cause, r.verdict.Certainty)
		if last := r.symptom.Last; !last.IsZero() && o.AsOf.Sub(last) >= time.Second {
			known += ", last " + prose.Span(o.AsOf.Sub(last)) + " ago"
		}
		fmt.Fprintf(w, "<div><span class=\"symptom bad\">%s</span> %s <small>%s</small></div>\n",
			markup(string(r.symptom.Kind)), markup(r.verdict.Text), markup(known))
	}
	fmt.Fprint(w, "</article>\n")
}

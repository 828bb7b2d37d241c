package answer

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"whylet.dev/whylet/why/prose"
)

// Markdown writes many answers as GitHub shows it, for a pull request or the summary of
// a CI job: a table of what asks for somebody, then why, and what to do. Nothing that a
// pod says can become markup of it.
func Markdown(all []Answer) string {
	var table, why strings.Builder
	well := 0
	for i := range all {
		a := &all[i]
		before := table.Len()
		for s, v := range a.Ill() {
			name := named(a, s)
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, plain(string(s.Kind)), code(string(v.Cause)), plain(prose.Brief(v.Text, 160)))
			a.explainMarkdown(&why, name, s, v)
		}
		switch {
		case len(a.Verdicts) == 0:
			well += a.Well
		case table.Len() == before:
			well++
		}
	}
	switch {
	case len(all) == 0:
		return "Nothing was asked about.\n"
	case table.Len() == 0:
		return fmt.Sprintf("All is well: %s.\n", prose.Plural(well, "answer"))
	}
	rest := prose.Whether(well > 0, fmt.Sprintf("\n%s well or done.\n", prose.Plural(well, "other")), "")
	return "| what | symptom | cause | why |\n|---|---|---|---|\n" + table.String() + rest + why.String()
}

// named is what a symptom is of: a pod of it, where the answer is about more.
func named(a *Answer, s Symptom) string {
	name := a.subject()
	if s.Pod != "" {
		name += " " + s.Pod
	}
	return plain(strings.ToLower(a.Subject.Kind) + " " + name)
}

func (a *Answer) explainMarkdown(w *strings.Builder, name string, s Symptom, v Verdict) {
	fmt.Fprintf(w, "\n### %s: %s\n\n**%s**\n\nCause %s, %s.\n", name, plain(string(s.Kind)), plain(v.Text), code(string(v.Cause)), plain(howKnown(v)))
	for _, c := range v.InCommon {
		fmt.Fprintf(w, "\nIn common: %s\n", plain(c.Text))
	}
	for i, l := range v.Chain {
		if i == 0 {
			w.WriteString("\n")
		}
		at := prose.Whether(l.At.IsZero(), "?", l.At.UTC().Format(time.DateTime))
		fmt.Fprintf(w, "- %s %s\n", at, plain(l.Text))
	}
	for i, line := range v.LastWords {
		if i == 0 {
			w.WriteString("\nIts last words:\n\n")
		}
		w.WriteString("    " + strings.TrimRight(prose.OneLine(line), " ") + "\n")
	}
	for i, f := range v.Steps() {
		if i == 0 {
			w.WriteString("\nTo do:\n\n")
		}
		fmt.Fprintf(w, "- %s (%s)\n", plain(f.Text), plain(string(f.Risk)))
		if f.Command != "" {
			fmt.Fprintf(w, "\n      %s\n", prose.OneLine(f.Command))
		}
	}
}

// plain escapes whatever Markdown or HTML would take for markup.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`, "@", "&#64;",
)

func plain(text string) string { return markup.Replace(prose.OneLine(text)) }

// code shows a name as code.
func code(name string) string { return "`" + strings.ReplaceAll(prose.OneLine(name), "`", "") + "`" }

// junitSuite is a test suite as CI systems read it (the schema of Jenkins' xUnit plugin):
// each thing that was asked about is a test, and what asks for somebody a failure.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	Failures []junitFailure `xml:"failure"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes many answers as a JUnit report.
func JUnit(all []Answer) (string, error) {
	suite := junitSuite{Name: "kubectl why", Tests: len(all)}
	for i := range all {
		a := &all[i]
		c := junitCase{Class: prose.OneLine(strings.ToLower(a.Subject.Kind)), Name: prose.OneLine(a.subject())}
		for s, v := range a.Ill() {
			one := *a
			one.Symptoms, one.Verdicts, one.Well = []Symptom{s}, []Verdict{v}, 0
			c.Failures = append(c.Failures, junitFailure{Type: prose.OneLine(string(v.Cause)), Message: prose.OneLine(fmt.Sprintf("%s: %s", s.Kind, v.Text)), Text: one.Text(Style{Wide: true})})
		}
		if len(c.Failures) > 0 {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return xml.Header + string(text) + "\n", nil
}

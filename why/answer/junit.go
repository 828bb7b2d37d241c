package answer

import (
	"encoding/xml"
	"fmt"
	"strings"

	"whylet.dev/whylet/why/prose"
)

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

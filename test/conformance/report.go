package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// report is what a run says of each test, as ginkgo writes it: the part that is
// read here.
type report []struct {
	SpecReports []spec
}

// spec is one test's result.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 failure
	// NumAttempts is 0 for a test that was left out by focus and skip.
	NumAttempts int
}

type failure struct{ Message string }

func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

func readReport(file string) (report, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

func parse(raw []byte) (report, error) {
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	return r, nil
}

// judge prints the result and returns an error when a test failed or none ran.
func (r report) judge(w io.Writer) error {
	var passed int
	var skipped, failed []spec
	for _, suite := range r {
		for _, s := range suite.SpecReports {
			switch {
			case s.State == "passed" && s.LeafNodeType == "It":
				passed++
			case s.State == "skipped" && s.NumAttempts > 0:
				skipped = append(skipped, s)
			case s.State != "passed" && s.State != "skipped" && s.State != "pending":
				failed = append(failed, s)
			}
		}
	}
	for _, s := range skipped {
		fmt.Fprintf(w, "skipped itself: %s: %s\n", s.name(), first(s.Failure.Message))
	}
	for _, s := range failed {
		fmt.Fprintf(w, "%s: %s: %s\n", s.State, s.name(), first(s.Failure.Message))
	}
	for _, name := range slices.Sorted(maps.Keys(excused)) {
		fmt.Fprintf(w, "not run: %s: %s\n", name, excused[name])
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped themselves, %d not run\n", passed, len(failed), len(skipped), len(excused))
	if len(failed) > 0 {
		return fmt.Errorf("%d tests failed", len(failed))
	}
	if passed == 0 {
		return fmt.Errorf("no test ran")
	}
	return nil
}

// first is a message's first line that says something.
func first(message string) string {
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

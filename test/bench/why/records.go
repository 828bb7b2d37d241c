package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why"
)

// record is an answer as the file of results keeps it, with what the machine was
// like then: how busy it is decides how late probes are.
type record struct {
	Round     int                 `json:"round"`
	Scenario  string              `json:"scenario"`
	Situation scenarios.Situation `json:"situation"`
	Cause     why.Cause           `json:"cause"` // the right one
	Grade     scenarios.Grade     `json:"grade"`
	// Why says what was amiss, Text is the answer then.
	Why  string `json:"why,omitempty"`
	Text string `json:"text,omitempty"`
	// Took and Until are those of scenarios.Result, in nanoseconds.
	Took  time.Duration `json:"took"`
	Until time.Duration `json:"until"`

	At      time.Time `json:"at"`
	Machine string    `json:"machine"`
	Load    float64   `json:"load"`
	Width   int       `json:"width"`
}

func newRecord(round, width int, r scenarios.Result) record {
	one := record{
		Round: round, Scenario: r.Scenario.Name, Situation: r.Situation, Cause: r.Scenario.Want.In(r.Situation).Cause, Grade: r.Grade,
		Took: r.Took, Until: r.Until, At: time.Now().UTC().Truncate(time.Second), Machine: machine(), Load: load(), Width: width,
	}
	if r.Grade != scenarios.Right {
		one.Why, one.Text = brief(r.Err), r.Text
	}
	return one
}

// about is the question that a record answers.
type about struct {
	round     int
	scenario  string
	situation scenarios.Situation
}

func (r record) about() about { return about{r.Round, r.Scenario, r.Situation} }

// latest keeps the last answer to each question.
func latest(all []record) []record {
	var kept []record
	seen := map[about]bool{}
	for _, r := range slices.Backward(all) {
		if !seen[r.about()] {
			seen[r.about()] = true
			kept = append(kept, r)
		}
	}
	slices.Reverse(kept)
	return kept
}

// played says whether a scenario was asked in all the situations in a round.
func played(all []record, round int, s *scenarios.Scenario, situations []scenarios.Situation) bool {
	return !slices.ContainsFunc(situations, func(in scenarios.Situation) bool {
		return s.Asked(in) && !slices.ContainsFunc(all, func(r record) bool { return r.about() == about{round, s.Name, in} })
	})
}

// readRecords reads a file of results; there need not be one yet.
func readRecords(file string) ([]record, error) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []record
	for line := range bytes.Lines(raw) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, len(all)+1, err)
		}
		all = append(all, r)
	}
	return latest(all), nil
}

func appendRecords(file string, fresh []record) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var lines bytes.Buffer
	for _, r := range fresh {
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			return err
		}
	}
	_, err = f.Write(lines.Bytes())
	return err
}

// machine is what the programs run on, in words.
func machine() string {
	var memory unix.Sysinfo_t
	var name unix.Utsname
	_, _ = unix.Sysinfo(&memory), unix.Uname(&name)
	return fmt.Sprintf("%d CPUs, %d GiB, Linux %s", runtime.NumCPU(), memory.Totalram*uint64(memory.Unit)>>30, unix.ByteSliceToString(name.Release[:]))
}

// load is the machine's load average of the last minute.
func load() (l float64) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(raw), &l)
	}
	return l
}

func brief(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), 160)]
}

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
	"whylet.dev/whylet/why/answer"
)

// record is a question with all its answers, as the file of results keeps it, with
// what the machine was like then: how busy it is decides how late probes are.
type record struct {
	Round     int                 `json:"round"`
	Scenario  string              `json:"scenario"`
	Situation scenarios.Situation `json:"situation"`
	Sight     scenarios.Sight     `json:"sight"`
	Cause     answer.Cause        `json:"cause"` // the right one
	Does      []string            `json:"does,omitempty"`
	Samples   []scenarios.Sample  `json:"samples"`
	// Subject and Namespace are what was asked about, Journal is the folder in which
	// -keep left the memory that answered.
	Subject   string `json:"subject,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Journal   string `json:"journal,omitempty"`
	// Failed says why nothing was asked.
	Failed string `json:"failed,omitempty"`

	At      time.Time `json:"at"`
	Machine string    `json:"machine"`
	// Load is how many processes were kept busy beside it, Measured the machine's load.
	Load     int     `json:"load"`
	Measured float64 `json:"measured"`
	Width    int     `json:"width"`
}

func (o *options) newRecord(round int, r scenarios.Result) record {
	one := record{
		Round: round, Scenario: r.Scenario.Name, Situation: r.Situation, Sight: r.Sight, Cause: r.Scenario.Want.In(r.Situation).Cause, Does: r.Scenario.Want.In(r.Situation).Does,
		Samples: r.Samples, At: time.Now().UTC().Truncate(time.Second), Machine: machine(), Load: o.load, Measured: measured(), Width: o.width,
		Subject: r.Subject, Namespace: r.Namespace, Journal: o.journal,
	}
	for i := range one.Samples {
		one.Samples[i].Why = brief(one.Samples[i].Why)
	}
	if len(r.Samples) == 0 && r.Err != nil {
		one.Failed = brief(r.Err.Error())
	}
	return one
}

// counted are the samples that the score is made of. What could not be asked at all is
// one without an answer.
func (r record) counted() []scenarios.Sample {
	var all []scenarios.Sample
	for _, s := range r.Samples {
		if s.Counts(r.Situation) {
			all = append(all, s)
		}
	}
	if len(r.Samples) == 0 {
		return []scenarios.Sample{{Grade: scenarios.Unknown, Why: r.Failed}}
	}
	return all
}

// about is the question that a record answers.
type about struct {
	round, load int
	scenario    string
	situation   scenarios.Situation
	sight       scenarios.Sight
}

func (r record) about() about { return about{r.Round, r.Load, r.Scenario, r.Situation, r.Sight} }

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
func played(all []record, round, load int, s *scenarios.Scenario, situations []scenarios.Situation) bool {
	return !slices.ContainsFunc(situations, func(in scenarios.Situation) bool {
		return s.Asked(in) && !slices.ContainsFunc(all, func(r record) bool {
			return r.Round == round && r.Load == load && r.Scenario == s.Name && r.Situation == in
		})
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

// measured is the machine's load average of the last minute.
func measured() (l float64) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(raw), &l)
	}
	return l
}

// brief is a text's first line, as far as a table has room for it.
func brief(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 160)]
}

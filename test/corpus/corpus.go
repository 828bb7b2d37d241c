// Package corpus asks recorded scenarios again: each as its cluster would have answered at the
// moment of the recording, once with the facts of its nodes and once by the API alone.
//
//	corpus.go   the cases, and their archives
//	ask.go      one case asked again, and graded
//	grades.go   the grades that were recorded
//	steps.go    what steps have to be
//	pack        the command that makes archives of what test/bench/why -record left
//
// testdata has an archive a batch, grades.txt, and what is known to be wrong in the labels:
//
//	go test ./test/corpus -v                   the table
//	go test ./test/corpus -rewrite             keeps grades that are higher, and those of new cases
//	go test ./test/corpus -rewrite -force-lower 'why'   keeps lower ones, too
//	go test ./test/corpus -save DIR            keeps the answers
//	go test ./test/corpus -against DIR         fails where an answer differs from one that was kept
package corpus

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/record"
)

// What test/bench/why -record leaves of a scenario: its namespace, and its [Label].
const (
	RecordSuffix = ".record"
	LabelSuffix  = ".label.json"
)

// Label is what is expected of the answers about a recorded scenario.
type Label struct {
	Scenario string `json:"scenario"`
	// Subject is what is asked about: pod/subject.
	Subject string             `json:"subject"`
	Stack   string             `json:"stack,omitempty"`
	Want    scenarios.Expected `json:"want"`
	// Live are the last grades of the answers of the running cluster.
	Live map[scenarios.Sight]scenarios.Grade `json:"live,omitempty"`
}

// Case is a recorded scenario.
type Case struct {
	Label
	*record.Case
}

// ReadRecords reads what -record left in a folder, by name. What has no label or no record was
// not recorded to its end, and is told.
func ReadRecords(dir string, told func(error)) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+RecordSuffix))
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, file := range files {
		var c Case
		text, err := os.ReadFile(strings.TrimSuffix(file, RecordSuffix) + LabelSuffix)
		if err == nil {
			err = json.Unmarshal(text, &c.Label)
		}
		if err == nil {
			c.Case, err = record.Open(file, record.Usual)
		}
		if err != nil {
			told(fmt.Errorf("%s: %w", file, err))
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// WriteArchive writes cases into one file: those of a batch have much in common, so they are
// compressed as one.
func WriteArchive(w io.Writer, all []Case) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for i := range all {
		label, err := json.Marshal(all[i].Label)
		if err != nil {
			return err
		}
		all[i].Case.Label = label
		if err := all[i].Append(t, all[i].Scenario); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// window is how far back an archive refers to what it has already.
const window = 64 << 20

// EachOf calls f with each case of an archive.
func EachOf(file string, f func(Case) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	return record.Each(tar.NewReader(z), record.Usual, func(folder string, r *record.Case) error {
		c := Case{Case: r}
		if err := json.Unmarshal(r.Label, &c.Label); err != nil {
			return fmt.Errorf("%s: the label of %s: %w", file, folder, err)
		}
		return f(c)
	})
}

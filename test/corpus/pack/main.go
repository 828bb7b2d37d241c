// Command pack makes the archives of test/corpus of what test/bench/why -record left.
//
//	go run ./test/corpus/pack /tmp/records
//
// Scenarios that are in an archive already are replaced there, others join the archive of their
// batch. Then go test ./test/corpus -rewrite records their grades.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whylet.dev/whylet/test/corpus"
	"whylet.dev/whylet/test/e2e/scenarios"
)

func main() {
	into := flag.String("into", "test/corpus/testdata", "the folder of the archives")
	sources := flag.String("scenarios", "test/e2e/scenarios", "where the scenarios are")
	flag.Parse()
	if err := pack(*into, *sources, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(into, sources string, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("say which folders test/bench/why -record wrote")
	}
	fresh := map[string]corpus.Case{}
	for _, dir := range dirs {
		found, err := corpus.ReadRecords(dir, func(err error) { fmt.Fprintln(os.Stderr, "left out:", err) })
		if err != nil {
			return err
		}
		for _, c := range found {
			fresh[c.Scenario] = c
		}
	}
	batches, err := batchesOf(sources)
	if err != nil {
		return err
	}
	archives := map[string]map[string]corpus.Case{}
	put := func(c corpus.Case, batch string) {
		if archives[batch] == nil {
			archives[batch] = map[string]corpus.Case{}
		}
		archives[batch][c.Scenario] = c
	}
	old, err := filepath.Glob(filepath.Join(into, "*.tar.zst"))
	if err != nil {
		return err
	}
	for _, file := range old {
		err := corpus.EachOf(file, func(c corpus.Case) error {
			put(c, strings.TrimSuffix(filepath.Base(file), ".tar.zst"))
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, c := range fresh {
		for _, all := range archives {
			delete(all, c.Scenario)
		}
		if batches[c.Scenario] == "" {
			return fmt.Errorf("there is no scenario %s in %s", c.Scenario, sources)
		}
		put(c, batches[c.Scenario])
	}
	return write(into, archives)
}

// batchesOf gives the batch of each scenario.
func batchesOf(sources string) (map[string]string, error) {
	batches := map[string]string{}
	own, err := scenarios.Load(sources)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		batches[s.Name] = "own"
	}
	servers, err := scenarios.Load(filepath.Join(sources, "servers"))
	for _, s := range servers {
		batches[s.Name] = "servers"
	}
	return batches, err
}

func write(into string, archives map[string]map[string]corpus.Case) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, batch := range slices.Sorted(maps.Keys(archives)) {
		file := filepath.Join(into, batch+".tar.zst")
		var all []corpus.Case
		for _, name := range slices.Sorted(maps.Keys(archives[batch])) {
			all = append(all, archives[batch][name])
		}
		if len(all) == 0 {
			if err := os.Remove(file); err != nil {
				return err
			}
			continue
		}
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := errors.Join(corpus.WriteArchive(f, all), f.Close()); err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d cases, %d bytes, %d a case\n", file, len(all), info.Size(), info.Size()/int64(len(all)))
	}
	return nil
}

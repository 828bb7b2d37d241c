package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"whylet.dev/whylet/test/e2e/scenarios"
)

// About is a question of the corpus.
type About struct {
	Scenario string
	Sight    scenarios.Sight
}

// Grades are the grades of answers.
type Grades map[About]scenarios.Grade

// order has the grades, each with its place: what is beside or partly right is as good.
var order = map[scenarios.Grade]int{scenarios.Wrong: 0, scenarios.Unknown: 1, scenarios.Part: 2, scenarios.Beside: 2, scenarios.Right: 3}

// Lower says whether a grade is lower than another.
func Lower(a, b scenarios.Grade) bool { return order[a] < order[b] }

// ReadGrades reads a file of grades; there need not be one yet.
func ReadGrades(file string) (Grades, error) {
	all := Grades{}
	err := eachLine(file, func(line string) error {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("%q is not scenario, sight and grade", line)
		}
		grade := scenarios.Grade(fields[2])
		if _, known := order[grade]; !known {
			return fmt.Errorf("%q is no grade", fields[2])
		}
		all[About{fields[0], sightOf(fields[1])}] = grade
		return nil
	})
	return all, err
}

// Write writes the grades into a file, by name.
func (g Grades) Write(file string) error {
	var b bytes.Buffer
	for _, about := range slices.SortedFunc(maps.Keys(g), func(a, b About) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Sight, b.Sight))
	}) {
		fmt.Fprintln(&b, about.Scenario, column(about.Sight), g[about])
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// column is a sight in one word.
func column(s scenarios.Sight) string {
	if s == scenarios.ByAPI {
		return "api"
	}
	return string(s)
}

func sightOf(column string) scenarios.Sight {
	if column == "api" {
		return scenarios.ByAPI
	}
	return scenarios.Sight(column)
}

// ReadReasons reads lines of a name, a colon and a reason; there need not be such a file.
func ReadReasons(file string) (map[string]string, error) {
	all := map[string]string{}
	err := eachLine(file, func(line string) error {
		name, why, found := strings.Cut(line, ": ")
		if !found {
			return fmt.Errorf("%q is not a name, a colon and a reason", line)
		}
		all[name] = why
		return nil
	})
	return all, err
}

// eachLine calls f with each line of a file that is no comment.
func eachLine(file string, f func(string) error) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			if err := f(line); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return lines.Err()
}

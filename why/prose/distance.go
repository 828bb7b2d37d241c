package prose

import (
	"slices"
	"strings"
)

// Distance counts the letters to insert, remove or replace to make b of a
// (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := corner
			if a[i] != b[j] {
				d = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Nearest returns the name that differs least from another, in a third of its letters at most, in one at least or
// in two that changed places; empty where none does. An equal one is no other.
func Nearest(name string, all []string) (best string) {
	const longest = 253 // of an object's name
	least := max(1, len(name)/3) + 1
	for _, one := range all {
		if one == name || len(one) > longest || len(name) > longest {
			continue
		}
		d := Distance(strings.ToLower(name), strings.ToLower(one))
		if d == 2 && slices.Equal(letters(name), letters(one)) {
			d = 1
		}
		if d < least || d == least && best != "" && one < best {
			least, best = d, one
		}
	}
	return best
}

func letters(s string) []byte { return slices.Sorted(slices.Values([]byte(s))) }

package main

import (
	"regexp"
	"strings"
)

// excused are the tests that are not run: part of their name → why they cannot
// pass on one node without a registry.
var excused = map[string]string{}

// excusedNames is a regular expression of them; "" for none.
func excusedNames() string {
	var names []string
	for name := range excused {
		names = append(names, regexp.QuoteMeta(name))
	}
	return strings.Join(names, "|")
}

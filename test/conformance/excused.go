package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// excused are the tests that are not run: part of their name → why they cannot
// pass on this one node, whatever it does.
var excused = map[string]string{
	"should have at least two untainted nodes":                "there is one node",
	"Daemon set should rollback without unnecessary restarts": "it wants two nodes",
	"PrivilegedPod should enable privileged commands":         "it adds a dummy network interface, for which not every kernel has the module",
}

// excusedNames is a regular expression of them.
func excusedNames() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(excused)) {
		names = append(names, regexp.QuoteMeta(name))
	}
	return strings.Join(names, "|")
}

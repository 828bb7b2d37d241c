package main

import (
	"fmt"
	"os"
	"strings"
)

// notes writes what CHANGELOG.md says of this version; before it is named there, what it
// says of what is unreleased.
func (r *release) notes() error {
	b, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	text, ok := section(string(b), r.number())
	if !ok {
		if text, ok = section(string(b), "Unreleased"); !ok {
			return fmt.Errorf("CHANGELOG.md says nothing of %s", r.version)
		}
	}
	return os.WriteFile(r.path("NOTES.md"), []byte("# Whylet "+r.version+"\n\n"+text), 0o644)
}

// section is what stands below the heading of a version, in the form of keepachangelog.com.
func section(changes, name string) (string, bool) {
	for part := range strings.SplitSeq("\n"+changes, "\n## ") {
		heading, body, _ := strings.Cut(part, "\n")
		if title := strings.Trim(strings.Fields(heading + " -")[0], "[]"); title == name {
			return strings.TrimSpace(body) + "\n", true
		}
	}
	return "", false
}

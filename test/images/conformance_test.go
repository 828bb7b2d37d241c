package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	imageutils "k8s.io/kubernetes/test/utils/image"
)

// The images have the names that the tests of the version we build with ask for.
func TestConformanceNames(t *testing.T) {
	var asked []string
	for _, config := range imageutils.GetImageConfigs() {
		asked = append(asked, config.GetE2EImage())
	}
	for _, r := range conformance {
		if !slices.Contains(asked, r.tag) {
			t.Errorf("no test asks for %s", r.tag)
		}
	}
}

// A module that both the suite and Whylet have is of the same version in both, so
// that the tests are of the version that runs, and share what was compiled.
func TestSuiteVersions(t *testing.T) {
	ours, theirs := versions(t, "../../go.mod"), versions(t, "../conformance/suite/go.mod")
	if theirs["k8s.io/kubernetes"] == "" {
		t.Error("the suite has no k8s.io/kubernetes")
	}
	for module, version := range theirs {
		if own, both := ours[module]; both && own != version {
			t.Errorf("%s is %s in the suite and %s in Whylet", module, version, own)
		}
	}
}

// versions are the modules of a go.mod that is replaced or required.
func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^(?:\t|require )(\S+)(?: => \S+)? (v\S+)`).FindAllStringSubmatch(string(raw), -1) {
		found[match[1]] = match[2]
	}
	return found
}

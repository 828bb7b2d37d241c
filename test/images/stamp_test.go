package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Whatever an image is made of changes its stamp, and nothing else does.
func TestStamp(t *testing.T) {
	stamp := func(r recipe) string {
		t.Helper()
		s, err := r.stamp()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := map[string]string{}
	for _, r := range slices.Concat(recipes, conformance) {
		s := stamp(r)
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s have one stamp", r.name, other)
		}
		if s != stamp(r) {
			t.Errorf("%s has two stamps", r.name)
		}
		seen[s] = r.name
		for what, change := range map[string]func(*recipe){
			"package": func(r *recipe) { r.packages = append([]string{"sl"}, r.packages...) },
			"file":    func(r *recipe) { r.files = with(r.files, "etc/motd", "hello") },
			"config":  func(r *recipe) { r.config.StopSignal = "SIGHUP" },
			"program": func(r *recipe) { r.programs = with(r.programs, "usr/bin/more", "example.org/more") },
			"copy":    func(r *recipe) { r.copies = with(r.copies, "usr/bin/copy", "bin/copy") },
			"link":    func(r *recipe) { r.links = with(r.links, "usr/bin/link", "copy") },
		} {
			changed := r
			change(&changed)
			if stamp(changed) == s {
				t.Errorf("%s: another %s does not show", r.name, what)
			}
		}
	}
}

func with(files map[string]string, name, content string) map[string]string {
	all := map[string]string{name: content}
	maps.Copy(all, files)
	return all
}

// An image is made again when its recipe changed, or when nobody knows what it was made by.
func TestMade(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.tar")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want bool, what string) {
		t.Helper()
		if made(archive, "1") != want {
			t.Error(what)
		}
	}
	is(false, "nothing is there")
	write(archive, "x")
	is(false, "an archive without a stamp")
	write(stampFile(archive), "0")
	is(false, "another recipe's")
	write(stampFile(archive), "1")
	is(true, "this recipe's")
}

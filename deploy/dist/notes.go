package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
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
	pins, err := r.pins()
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("NOTES.md"), []byte("# Whylet "+r.version+"\n\n"+text+"\n"+pins), 0o644)
}

// pins lists what others can hold the release to: the images' digests, and the checksum of
// the script that has the key.
func (r *release) pins() (string, error) {
	var b strings.Builder
	b.WriteString("### To pin\n\n| what | digest |\n|---|---|\n")
	for _, image := range []string{"observe", "front", "mesh", "node"} {
		digest, err := imageDigest(r.built("oci/whylet-" + image + ".tar"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| image `%s` | `%s` |\n", image, digest)
	}
	script, err := os.ReadFile(r.path("install.sh"))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "| `install.sh` | `%x` |\n", sha256.Sum256(script))
	return b.String(), nil
}

// imageDigest reads the digest of the image, for all its architectures, that an archive in
// the OCI layout holds.
func imageDigest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("%s has no index.json: %w", file, err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index struct {
			Manifests []struct{ Digest string }
		}
		if err := json.NewDecoder(r).Decode(&index); err != nil {
			return "", fmt.Errorf("index.json of %s: %w", file, err)
		}
		if len(index.Manifests) != 1 {
			return "", fmt.Errorf("%s holds %d images, and should hold one", file, len(index.Manifests))
		}
		return index.Manifests[0].Digest, nil
	}
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

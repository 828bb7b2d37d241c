package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// SPDX 2.3, as far as the modules that Go programs name of themselves go.
type document struct {
	Version   string         `json:"spdxVersion"`
	License   string         `json:"dataLicense"`
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Namespace string         `json:"documentNamespace"`
	Creation  creation       `json:"creationInfo"`
	Packages  []spdxPackage  `json:"packages"`
	Relations []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID       string     `json:"SPDXID"`
	Name     string     `json:"name"`
	Version  string     `json:"versionInfo"`
	Location string     `json:"downloadLocation"`
	Analyzed bool       `json:"filesAnalyzed"`
	License  string     `json:"licenseConcluded"`
	Refs     []external `json:"externalRefs,omitempty"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// sbom lists the modules that are in the programs, read from the programs themselves.
func (r *release) sbom() error {
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "whylet-" + r.version,
		Creation: creation{Created: epoch.UTC().Format(time.RFC3339), Creators: []string{"Organization: The Whylet authors", "Tool: whylet-dist"}},
	}
	modules := map[string]spdxPackage{}
	for _, program := range []string{"whylet", "kubectl-why", "oci/amd64/whylet-observe", "oci/amd64/whylet-front", "oci/amd64/whylet-mesh", "oci/amd64/whylet-init", "libexec/runc", "libexec/containerd-shim-runc-v2", "libexec/cni/podnet"} {
		info, err := buildinfo.ReadFile(r.built(program))
		if errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "dist: %s is not built, and not in the list of what is within\n", program)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		own := spdxPackage{ID: "SPDXRef-program-" + safe(program), Name: program, Version: r.version, Location: "NOASSERTION", License: "Apache-2.0"}
		d.Packages = append(d.Packages, own)
		d.Relations = append(d.Relations, relationship{d.ID, "DESCRIBES", own.ID})
		for _, m := range append(info.Deps, &debug.Module{Path: "stdlib", Version: info.GoVersion}) {
			p := packageOf(m)
			modules[p.ID] = p
			d.Relations = append(d.Relations, relationship{own.ID, "DEPENDS_ON", p.ID})
		}
	}
	if err := r.borrowed(&d, modules); err != nil {
		return err
	}
	for _, p := range modules {
		d.Packages = append(d.Packages, p)
	}
	slices.SortFunc(d.Packages, func(a, b spdxPackage) int { return cmp.Compare(a.ID, b.ID) })
	hashed, err := json.Marshal(d)
	if err != nil {
		return err
	}
	d.Namespace = fmt.Sprintf("https://whylet.dev/spdx/%s/%x", r.version, sha256.Sum256(hashed))
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("whylet_"+r.number()+".spdx.json"), append(text, '\n'), 0o644)
}

// borrowed adds Debian's packages that the nft in libexec was taken from (tools/nft).
func (r *release) borrowed(d *document, packages map[string]spdxPackage) error {
	list, err := os.ReadFile(r.built("libexec/nft.d/packages"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	own := spdxPackage{ID: "SPDXRef-program-libexec-nft", Name: "libexec/nft", Version: r.version, Location: "NOASSERTION", License: "NOASSERTION"}
	d.Packages = append(d.Packages, own)
	d.Relations = append(d.Relations, relationship{d.ID, "DESCRIBES", own.ID})
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line) // source package and version, package and version, architecture
		if len(f) != 5 {
			return fmt.Errorf("%q is no line of nft.d/packages", line)
		}
		p := spdxPackage{
			ID: "SPDXRef-debian-" + safe(f[2]+"-"+f[3]), Name: f[2], Version: f[3], Location: "NOASSERTION", License: "NOASSERTION",
			Refs: []external{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", f[2], url.QueryEscape(f[3]), f[4])}},
		}
		packages[p.ID] = p
		d.Relations = append(d.Relations, relationship{own.ID, "DEPENDS_ON", p.ID})
	}
	return err
}

func packageOf(m *debug.Module) spdxPackage {
	if m.Replace != nil {
		m = m.Replace
	}
	return spdxPackage{
		ID: "SPDXRef-module-" + safe(m.Path+"-"+m.Version), Name: m.Path, Version: m.Version, Location: "NOASSERTION", License: "NOASSERTION",
		Refs: []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
	}
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func safe(s string) string { return unsafe.ReplaceAllString(s, "-") }

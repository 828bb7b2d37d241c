// Command dist makes of what was built all files of a release: archives, a Debian package,
// images, the chart, the manifest for krew, a list of what is within, notes, checksums and
// their signature. The same input gives the same bytes, but for the signature. It compiles
// nothing and uploads nothing.
//
//	go run ./deploy/dist -version v1.2.3 -bin bin -out dist -key release.pem
//
//	main.go     what there is to do
//	archive.go  tar archives, zip archives
//	packages.go what packages hold; deb.go and rpm.go, how they are written
//	chart.go    the chart, at this version
//	krew.go     the manifest by which krew installs kubectl why
//	sbom.go     what is in the programs, as SPDX
//	notes.go    the release notes, of CHANGELOG.md
//	sums.go     checksums, and their signature
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "the version, as v1.2.3")
	flag.StringVar(&r.bin, "bin", "bin", "folder with what was built")
	flag.StringVar(&r.out, "out", "dist", "folder to write to")
	flag.StringVar(&r.key, "key", "", "private key (PEM, EC P-256) to sign the checksums with; empty: they are not signed")
	flag.Parse()
	if err := r.run(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

type release struct {
	version, bin, out, key string
}

// semver is what a version has to look like: packages and charts are ordered by it.
var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// built is the path of something built, made the path of a release's file.
func (r *release) built(name string) string { return filepath.Join(r.bin, name) }
func (r *release) path(name string) string  { return filepath.Join(r.out, name) }

func (r *release) run() error {
	if !semver.MatchString(r.version) {
		return fmt.Errorf("-version %q is no semantic version, such as v1.2.3 or v1.2.3-rc.1", r.version)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(r.path("*"))
	if err != nil {
		return err
	}
	for _, file := range old { // of another version: they would be signed along
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, step := range []func() error{r.programs, r.clients, r.images, r.deb, r.rpm, r.chart, r.krew, r.sbom, r.installer, r.notes, r.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// license is in every archive.
var license = packed{name: "LICENSE", from: "LICENSE", mode: 0o644}

// programs are the node, for the architectures it was built for, and the agent.
func (r *release) programs() error {
	for _, arch := range arches {
		node := r.built("dist/whylet-" + arch)
		if _, err := os.Stat(node); err == nil {
			err := r.tarball("whylet_"+r.number()+"_linux_"+arch+".tar.gz",
				packed{name: "whylet", from: node, mode: 0o755}, packed{name: "kubectl-why", from: r.client("linux", arch), mode: 0o755}, license)
			if err != nil {
				return err
			}
		}
		err := r.tarball("whylet-observe_"+r.number()+"_linux_"+arch+".tar.gz",
			packed{name: "whylet-observe", from: r.built("oci/" + arch + "/whylet-observe"), mode: 0o755}, license)
		if err != nil {
			return err
		}
	}
	return nil
}

var arches = []string{"amd64", "arm64"}

// platforms are those on which people type kubectl.
var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}

func (r *release) client(system, arch string) string {
	return r.built("client/kubectl-why-" + system + "-" + arch + suffix(system))
}

func suffix(system string) string {
	if system == "windows" {
		return ".exe"
	}
	return ""
}

func (r *release) clientArchive(system, arch string) string {
	return "kubectl-why_" + r.number() + "_" + system + "_" + arch + ".tar.gz"
}

func (r *release) clients() error {
	for _, p := range platforms {
		from := r.client(p[0], p[1])
		if _, err := os.Stat(from); err != nil {
			fmt.Fprintf(os.Stderr, "dist: no client for %s/%s: make client builds it\n", p[0], p[1])
			continue
		}
		if err := r.tarball(r.clientArchive(p[0], p[1]), packed{name: "kubectl-why" + suffix(p[0]), from: from, mode: 0o755}, license); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) images() error {
	for _, name := range []string{"whylet-node", "whylet-observe", "whylet-front", "whylet-mesh"} {
		content, err := os.ReadFile(r.built("oci/" + name + ".tar"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(name+"_"+r.number()+"_oci.tar"), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// installer is install.sh with the key by which it knows what is of us.
func (r *release) installer() error {
	script, err := os.ReadFile("install.sh")
	if err != nil {
		return err
	}
	text := strings.Replace(string(script), "VERSION=\n", "VERSION="+r.version+"\n", 1)
	if r.key != "" {
		public, err := publicKey(r.key)
		if err != nil {
			return err
		}
		text = strings.Replace(text, "KEY=''\n", "KEY='"+strings.TrimSpace(public)+"'\n", 1)
	}
	return os.WriteFile(r.path("install.sh"), []byte(text), 0o755)
}

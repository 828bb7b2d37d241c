package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// made makes a release of programs that only say their names, signed with a key of the test.
func made(t *testing.T) (dist string) {
	t.Helper()
	t.Chdir("../..")
	bin, key := t.TempDir(), filepath.Join(t.TempDir(), "key.pem")
	for _, name := range []string{
		"dist/whylet-amd64", "dist/whylet-arm64", "client/kubectl-why-linux-amd64", "client/kubectl-why-linux-arm64", "client/kubectl-why-windows-amd64.exe",
		"oci/amd64/whylet-observe", "oci/arm64/whylet-observe", "oci/whylet-node.tar", "oci/whylet-observe.tar", "oci/whylet-front.tar", "oci/whylet-mesh.tar",
	} {
		file := filepath.Join(bin, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		content := []byte("#!/bin/sh\necho " + filepath.Base(name) + " \"$@\"\n")
		if strings.HasPrefix(name, "oci/whylet-") {
			content = image(t, name)
		}
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(bin, "oci/amd64/whylet-observe") // what is within is read from a Go program
	if err := errors.Join(os.Remove(agent), os.Symlink(self, agent)); err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(bin, "libexec/nft.d/packages")
	if err := errors.Join(os.MkdirAll(filepath.Dir(packages), 0o755), os.WriteFile(packages, []byte("gmp 2:6.2.1 libgmp10 2:6.2.1+dfsg1-1.1 amd64\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	dist = filepath.Join(t.TempDir(), "v1.2.3")
	r := release{version: "v1.2.3", bin: bin, out: dist, key: key}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	return dist
}

// image is an archive with nothing but an index, whose digest is that of its name.
func image(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	index := fmt.Sprintf(`{"manifests": [{"digest": "sha256:%x"}]}`, sha256.Sum256([]byte(name)))
	err := w.WriteHeader(&tar.Header{Name: "index.json", Mode: 0o644, Size: int64(len(index))})
	if _, err2 := w.Write([]byte(index)); errors.Join(err, err2, w.Close()) != nil {
		t.Fatal(err, err2)
	}
	return b.Bytes()
}

// TestPins: a release's notes say what to hold its images and its installer to.
func TestPins(t *testing.T) {
	dist := made(t)
	notes, err := os.ReadFile(filepath.Join(dist, "NOTES.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dist, "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("| image `observe` | `sha256:%x` |", sha256.Sum256([]byte("oci/whylet-observe.tar"))),
		fmt.Sprintf("| image `front` | `sha256:%x` |", sha256.Sum256([]byte("oci/whylet-front.tar"))),
		fmt.Sprintf("| `install.sh` | `%x` |", sha256.Sum256(script)),
	} {
		if !strings.Contains(string(notes), want) {
			t.Errorf("%s is missing in\n%s", want, notes)
		}
	}
}

func TestRelease(t *testing.T) {
	dist := made(t)
	for _, name := range []string{
		"whylet_1.2.3_linux_amd64.tar.gz", "whylet_1.2.3_linux_arm64.tar.gz", "whylet_1.2.3_amd64.deb", "whylet_1.2.3_arm64.deb", "whylet-1.2.3-1.x86_64.rpm", "whylet-1.2.3-1.aarch64.rpm", "whylet-node_1.2.3_oci.tar", "whylet-mesh_1.2.3_oci.tar",
		"kubectl-why_1.2.3_windows_amd64.tar.gz",
		"whylet-1.2.3.tgz", "why.yaml", "whylet_1.2.3.spdx.json", "NOTES.md", "install.sh", "SHA256SUMS", "SHA256SUMS.sig",
	} {
		if _, err := os.Stat(filepath.Join(dist, name)); err != nil {
			t.Error(err)
		}
	}
	chart := unpack(t, filepath.Join(dist, "whylet-1.2.3.tgz"))
	if !strings.Contains(chart["whylet/Chart.yaml"], "\nversion: 1.2.3\n") || !strings.Contains(chart["whylet/Chart.yaml"], "appVersion: v1.2.3\n") {
		t.Errorf("the chart is of another version:\n%s", chart["whylet/Chart.yaml"])
	}
	bill, err := os.ReadFile(filepath.Join(dist, "whylet_1.2.3.spdx.json"))
	if err != nil || !json.Valid(bill) || !strings.Contains(string(bill), "pkg:golang/sigs.k8s.io/yaml@v") ||
		!strings.Contains(string(bill), "pkg:deb/debian/libgmp10@2%3A6.2.1%2Bdfsg1-1.1?arch=amd64") {
		t.Errorf("the list of what is within: %v\n%s", err, bill)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dist
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if rpm, err := exec.LookPath("rpm"); err == nil {
		out, err := exec.CommandContext(t.Context(), rpm, "-q", "-l", "--requires", "-p", filepath.Join(dist, "whylet-1.2.3-1.x86_64.rpm")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "/usr/bin/kubectl-why\n") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if dpkg, err := exec.LookPath("dpkg-deb"); err == nil {
		out, err := exec.CommandContext(t.Context(), dpkg, "--contents", filepath.Join(dist, "whylet_1.2.3_amd64.deb")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "./usr/bin/whylet") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false, "v01.2.3": false, "abc123-dirty": false} {
		if semver.MatchString(version) != good {
			t.Errorf("%s: %v", version, !good)
		}
	}
}

func TestSection(t *testing.T) {
	changes := "# Changes\n\n## Unreleased\n\n- new\n\n## [1.2.3] - 2026-11-23\n\n- old\n"
	for name, want := range map[string]string{"Unreleased": "- new\n", "1.2.3": "- old\n"} {
		if got, ok := section(changes, name); !ok || got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, ok := section(changes, "9.9.9"); ok {
		t.Error("notes of a version that is not there")
	}
}

// TestInstaller runs install.sh against a server on loopback and a folder, with good files
// and with spoilt ones.
func TestInstaller(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it installs on Linux")
	}
	for _, name := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	dist := made(t)
	server := httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Dir(dist))))
	defer server.Close()
	prefix, authority := t.TempDir(), filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(dist, "install.sh")}, args...)...)
		cmd.Env = append(os.Environ(), "WHYLET_URL="+server.URL, "CURL_CA_BUNDLE="+authority, "PREFIX="+prefix, "WHYLET_ROOT="+prefix)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	there := func() bool { _, err := os.Stat(filepath.Join(prefix, "bin", "whylet")); return err == nil }
	for _, args := range [][]string{{"--no-start"}, {"--no-start", "--version", "v1.2.3"}, {"--no-start", "--offline", dist}} {
		if out, err := run(args...); err != nil || !there() || !strings.Contains(out, "installed") {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(prefix, "bin", "whylet"), "x").Output()
		if err != nil || string(out) != "whylet-"+runtime.GOARCH+" x\n" {
			t.Errorf("what is installed says %q, %v", out, err)
		}
		if err := os.RemoveAll(filepath.Join(prefix, "bin")); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run("--what"); err == nil || !strings.Contains(out, "--help") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run("--no-start", "--version", "v9.9.9"); err == nil || !strings.Contains(out, "cannot be fetched") || there() {
		t.Errorf("a version that is not there: %v\n%s", err, out)
	}
	spoil(t, filepath.Join(dist, "whylet_1.2.3_linux_"+runtime.GOARCH+".tar.gz"))
	if out, err := run("--no-start"); err == nil || !strings.Contains(out, "damaged") || there() {
		t.Errorf("a damaged archive: %v\n%s", err, out)
	}
	spoil(t, filepath.Join(dist, "SHA256SUMS"))
	if out, err := run("--no-start"); err == nil || !strings.Contains(out, "signature does not fit") || there() {
		t.Errorf("a changed list: %v\n%s", err, out)
	}
	if out, err := run("uninstall"); err != nil || there() {
		t.Errorf("%v\n%s", err, out)
	}
}

func spoil(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(content)
	}
}

// TestAction: what the GitHub action runs is a script, and its inputs are those that it
// declares. Nothing here can run it.
func TestAction(t *testing.T) {
	b, err := os.ReadFile("../../.github/actions/setup-whylet/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]any
		Runs   struct {
			Using string
			Steps []struct {
				Run, Shell string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(b, &action); err != nil || action.Runs.Using != "composite" || len(action.Runs.Steps) == 0 {
		t.Fatalf("%+v, %v", action, err)
	}
	if pin, _ := action.Inputs["sha256"].(map[string]any); pin["required"] != true || !strings.Contains(action.Runs.Steps[0].Run, "sha256sum --check") {
		t.Errorf("it runs what it fetches unchecked: %s", action.Runs.Steps[0].Run)
	}
	for _, s := range action.Runs.Steps {
		for _, from := range s.Env {
			name := strings.TrimSuffix(strings.TrimPrefix(from, "${{ inputs."), " }}")
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("no input is %s", name)
			}
		}
		check := exec.CommandContext(t.Context(), "bash", "-n")
		check.Stdin = strings.NewReader(s.Run)
		if out, err := check.CombinedOutput(); err != nil || s.Shell != "bash" {
			t.Errorf("%v %s\n%s", err, out, s.Run)
		}
	}
}

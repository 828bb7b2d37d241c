package main

import (
	"bytes"
	"fmt"
	"os"
)

// deb writes Debian packages: an ar archive of a version, a control and a data archive
// (deb(5)). A node needs nft for kube-proxy's rules and mount for volumes.
func (r *release) deb() error {
	for _, arch := range arches {
		node := r.built("dist/whylet-" + arch)
		if _, err := os.Stat(node); err != nil {
			continue
		}
		data := []packed{
			{name: "./usr/", mode: 0o755},
			{name: "./usr/bin/", mode: 0o755},
			{name: "./usr/bin/whylet", from: node, mode: 0o755},
			{name: "./usr/bin/kubectl-why", from: r.client("linux", arch), mode: 0o755},
			{name: "./usr/bin/kubectl_complete-why", link: "kubectl-why", mode: 0o777},
			{name: "./usr/share/", mode: 0o755},
			{name: "./usr/share/doc/", mode: 0o755},
			{name: "./usr/share/doc/whylet/", mode: 0o755},
			{name: "./usr/share/doc/whylet/copyright", from: "LICENSE", mode: 0o644},
		}
		dataArchive, err := targz(data)
		if err != nil {
			return err
		}
		info, err := os.Stat(node)
		if err != nil {
			return err
		}
		control, err := targz([]packed{{name: "./control", mode: 0o644, content: []byte(r.control(arch, info.Size()))}})
		if err != nil {
			return err
		}
		var out bytes.Buffer
		out.WriteString("!<arch>\n")
		member(&out, "debian-binary", []byte("2.0\n"))
		member(&out, "control.tar.gz", control)
		member(&out, "data.tar.gz", dataArchive)
		if err := os.WriteFile(r.path("whylet_"+r.number()+"_"+arch+".deb"), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) control(arch string, size int64) string {
	// A version before the release sorts before it by a tilde.
	version := bytes.Replace([]byte(r.number()), []byte("-"), []byte("~"), 1)
	return fmt.Sprintf(`Package: whylet
Version: %s
Architecture: %s
Maintainer: The Whylet authors <whylet@whylet.dev>
Installed-Size: %d
Depends: nftables, mount
Section: admin
Priority: optional
Homepage: https://whylet.dev
Description: Kubernetes node that remembers why
 A node with control plane and container runtime in one program. It writes down
 every fact that it decides from, and kubectl why answers from these why a pod
 was restarted, does not start, is not ready or is gone.
`, version, arch, size/1024)
}

// member adds a file to an ar archive.
func member(out *bytes.Buffer, name string, content []byte) {
	fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, epoch.Unix(), 0, 0, 0o100644, len(content))
	out.Write(content)
	if len(content)%2 == 1 {
		out.WriteByte('\n')
	}
}

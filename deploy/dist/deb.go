package main

import (
	"bytes"
	"fmt"
	"os"
)

// deb writes Debian packages: an ar archive of a version, a control and a data archive
// (deb(5)).
func (r *release) deb() error {
	return r.packages(func(arch string, size int64, tree []packed) error {
		var data []packed
		for _, f := range tree {
			f.name = "." + f.name
			data = append(data, f)
		}
		dataArchive, err := targz(data)
		if err != nil {
			return err
		}
		control, err := targz([]packed{
			{name: "./control", mode: 0o644, content: []byte(r.control(arch, size))},
			{name: "./prerm", mode: 0o755, content: []byte("#!/bin/sh\nset -e\nif [ \"$1\" = remove ]; then\n" + beforeRemoval + "fi\n")},
		})
		if err != nil {
			return err
		}
		var out bytes.Buffer
		out.WriteString("!<arch>\n")
		member(&out, "debian-binary", []byte("2.0\n"))
		member(&out, "control.tar.gz", control)
		member(&out, "data.tar.gz", dataArchive)
		return os.WriteFile(r.path("whylet_"+r.number()+"_"+arch+".deb"), out.Bytes(), 0o644)
	})
}

func (r *release) control(arch string, size int64) string {
	// A version before the release sorts before it by a tilde.
	version := bytes.Replace([]byte(r.number()), []byte("-"), []byte("~"), 1)
	return fmt.Sprintf(`Package: whylet
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Section: admin
Priority: optional
Homepage: https://whylet.dev
Description: %s
 %s
`, version, arch, maintainer, size/1024, summary, string(bytes.ReplaceAll([]byte(description), []byte("\n"), []byte("\n "))))
}

// member adds a file to an ar archive.
func member(out *bytes.Buffer, name string, content []byte) {
	fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, epoch.Unix(), 0, 0, 0o100644, len(content))
	out.Write(content)
	if len(content)%2 == 1 {
		out.WriteByte('\n')
	}
}

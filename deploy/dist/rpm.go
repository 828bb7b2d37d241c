package main

import (
	"os"
	"strings"

	"github.com/google/rpmpack"
)

// rpm writes packages for Fedora and its kin.
func (r *release) rpm() error {
	return r.packages(func(arch string, _ int64, tree []packed) error {
		machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
		// A version before the release sorts before it by a tilde.
		version := strings.Replace(r.number(), "-", "~", 1)
		p, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
			Name: "whylet", Version: version, Release: "1", Arch: machine, OS: "linux",
			Summary: summary, Description: description, Licence: "Apache-2.0", URL: "https://whylet.dev", Packager: maintainer,
			BuildTime: epoch, BuildHost: "whylet.dev", Compressor: "gzip",
		})
		if err != nil {
			return err
		}
		p.AddPreun("if [ \"$1\" = 0 ]; then\n" + beforeRemoval + "fi\n")
		for _, f := range tree {
			file := rpmpack.RPMFile{Name: strings.TrimSuffix(f.name, "/"), Mode: uint(f.mode), Owner: "root", Group: "root", MTime: uint32(epoch.Unix()), Body: []byte(f.link)}
			switch {
			case strings.HasSuffix(f.name, "/whylet/"):
				file.Mode |= 0o40000 // goes with the package
			case strings.HasSuffix(f.name, "/"):
				continue // the system's
			case f.link != "":
				file.Mode |= 0o120000
			default:
				if file.Body, err = os.ReadFile(f.from); err != nil {
					return err
				}
			}
			p.AddFile(file)
		}
		out, err := os.Create(r.path("whylet-" + version + "-1." + machine + ".rpm"))
		if err != nil {
			return err
		}
		defer out.Close()
		if err := p.Write(out); err != nil {
			return err
		}
		return out.Close()
	})
}

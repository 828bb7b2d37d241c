// Command image makes the image of a program, for the architectures that it was built
// for, without a registry: the program, and the authorities by which it knows servers
// outside of the cluster.
//
//	go run ./deploy/image -out bin/whylet-observe.tar -tag whylet.dev/observe:v1 amd64=bin/amd64/whylet-observe arm64=…
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whylet.dev/whylet/deploy/oci"
)

// authorities is where Go looks for them, on Debian and in the image.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

func main() {
	out := flag.String("out", "", "archive to write")
	tag := flag.String("tag", "", "the image's name")
	version := flag.String("version", "", "the version that its label says")
	flag.Parse()
	if err := run(*out, *tag, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(out, tag, version string, programs []string) error {
	var specs []oci.Spec
	for _, p := range programs {
		arch, program, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%q: say ARCH=PROGRAM", p)
		}
		name := filepath.Base(program)
		specs = append(specs, oci.Spec{
			Arch:       arch,
			Entrypoint: []string{"/" + name},
			Files: []oci.File{
				{Path: "/" + name, From: program, Mode: 0o755},
				{Path: authorities, From: authorities, Mode: 0o644},
			},
			Labels: map[string]string{
				"org.opencontainers.image.title": name, "org.opencontainers.image.version": version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		})
	}
	if len(specs) == 0 || out == "" || tag == "" {
		return fmt.Errorf("-out, -tag and a program for each architecture are needed")
	}
	return oci.Write(out, tag, specs...)
}

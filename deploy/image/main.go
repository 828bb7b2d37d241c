// Command image makes the image of a program, for the architectures that it was built
// for, without a registry: the program, and the authorities by which it knows servers
// outside of the cluster.
//
//	go run ./deploy/image -out bin/whylet-observe.tar -tag whylet.dev/observe:v1 amd64=bin/amd64/whylet-observe arm64=…
//
// With -node it makes the node's, of a whylet that carries its helpers and of whylet-init:
//
//	go run ./deploy/image -node -out bin/whylet-node.tar -tag whylet.dev/node:v1 amd64=bin/dist/whylet-amd64,bin/oci/amd64/whylet-init
//
//	main.go  the image of one program
//	node.go  the node's
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
	at := flag.String("at", "", "where the program is in the image (default: its name, in the root)")
	node := flag.Bool("node", false, "make the node's image of ARCH=WHYLET,INIT")
	flag.Parse()
	make := func(arch, program string) oci.Spec { return single(arch, program, *at) }
	if *node {
		make = nodeSpec
	}
	if err := run(*out, *tag, *version, make, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(out, tag, version string, make func(arch, program string) oci.Spec, programs []string) error {
	var specs []oci.Spec
	for _, p := range programs {
		arch, program, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("%q: say ARCH=PROGRAM", p)
		}
		spec := make(arch, program)
		spec.Files = append(spec.Files, oci.File{Path: authorities, From: authorities, Mode: 0o644})
		spec.Config.Labels = map[string]string{
			"org.opencontainers.image.title": filepath.Base(spec.Files[0].Path), "org.opencontainers.image.version": version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		}
		specs = append(specs, spec)
	}
	if len(specs) == 0 || out == "" || tag == "" {
		return fmt.Errorf("-out, -tag and a program for each architecture are needed")
	}
	return oci.Write(out, tag, specs...)
}

// single is one program.
func single(arch, program, at string) oci.Spec {
	if at == "" {
		at = "/" + filepath.Base(program)
	}
	return oci.Spec{
		Arch: arch, Files: []oci.File{{Path: at, From: program, Mode: 0o755}},
		Config: oci.Config{Entrypoint: []string{at}},
	}
}

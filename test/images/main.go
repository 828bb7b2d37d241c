// Command images makes the container images that tests and examples use, from
// Debian packages: no registry is asked. It writes one archive an image, which
// `whylet image load` takes, and beside it by what recipe it was made: an image
// whose recipe has not changed is left as it is.
//
//	go run ./test/images -out bin/images            # all of them
//	go run ./test/images -out bin/images nginx stress
//	go run ./test/images -out bin/servers -servers
//	go run ./test/images -out bin/conformance/images -conformance
//
// The packages are fetched by apt-get, with its own configuration and checks,
// and kept in -cache. It must run as root, because apt-get and ownership need it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	out := flag.String("out", "bin/images", "folder to write the archives to")
	cache := flag.String("cache", filepath.Join(os.TempDir(), "whylet-debs"), "folder to keep downloaded packages in")
	set := flag.Bool("conformance", false, "make the images of Kubernetes' end-to-end tests instead")
	large := flag.Bool("servers", false, "make the images of servers as people deploy them instead")
	force := flag.Bool("force", false, "make images again whose recipe has not changed")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: images [-out DIR] [-cache DIR] [-force] [NAME…]\n\nNames: %s\n\n", strings.Join(names(recipes), " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all := recipes
	switch {
	case *set:
		all = conformance
	case *large:
		all = servers
	}
	if err := run(ctx, all, *out, *cache, *force, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, all []recipe, out, cache string, force bool, wanted []string) error {
	if len(wanted) == 0 {
		wanted = names(all)
	}
	for _, dir := range []string{out, cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, name := range wanted {
		r, found := find(all, name)
		if !found {
			return fmt.Errorf("no image named %q; there are: %s", name, strings.Join(names(all), " "))
		}
		file := filepath.Join(out, name+".tar")
		stamp, err := r.stamp()
		if err != nil {
			return err
		}
		if made(file, stamp) && !force {
			continue
		}
		fmt.Fprintf(os.Stderr, "making image %s\n", r.tag)
		if err := r.build(ctx, cache, file); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		if err := os.WriteFile(stampFile(file), []byte(stamp), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func find(all []recipe, name string) (recipe, bool) {
	i := slices.IndexFunc(all, func(r recipe) bool { return r.name == name })
	if i < 0 {
		return recipe{}, false
	}
	return all[i], true
}

func names(all []recipe) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.name
	}
	return names
}

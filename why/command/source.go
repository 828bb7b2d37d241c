package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/dump"
	"whylet.dev/whylet/why/record"
)

// source finds what is asked: a file, a directory, or the cluster.
func (o *options) source() (ask.Asker, error) {
	return o.asker(ask.Options{Container: o.container, Since: o.since, WithValues: o.withValues, NoFront: o.withValues, Watching: o.watch}, o.everywhere)
}

// asker finds what is asked with some settings; an empty namespace stands for that of
// the command line.
func (o *options) asker(settings ask.Options, everywhere bool) (ask.Asker, error) {
	if settings.Namespace == "" {
		settings.Namespace = *o.config.Namespace
	}
	own, err := o.base()
	if err != nil {
		return nil, err
	}
	settings.Known = &ask.Known{Own: own, ConfigMaps: true, Warn: o.warnOf}
	switch {
	case o.dump != "" || o.history != "":
		c, err := o.kept()
		if err == nil {
			return o.ofCase(c, settings, everywhere)
		}
		if o.dump != "" || !errors.Is(err, record.ErrNotRecord) || errors.Is(err, record.ErrNotWhole) {
			return nil, err
		}
		f, err := (journal.Bounds{Bytes: o.most << 20}).OpenFile(o.history)
		if err != nil && !errors.Is(err, journal.ErrCutShort) {
			return nil, err
		}
		return &ask.Journal{Source: f, AsOf: f.Stats().Last, Options: settings}, nil
	case o.dataDir != "":
		r, err := journal.OpenBelow(o.dataDir)
		if err != nil {
			return nil, err
		}
		return &ask.Journal{Source: r, Options: settings}, nil
	}
	return o.cluster(settings, everywhere)
}

// readCase reads the recorded case that --file names, or what --dump does.
func (o *options) readCase() (*record.Case, error) {
	if o.dump == "" {
		return record.Open(o.history, o.most<<20)
	}
	c, err := record.Open(o.dump, o.most<<20)
	if err == nil || errors.Is(err, record.ErrNotWhole) {
		return c, err
	}
	if c, err = dump.Read(o.dump, o.most<<20); err != nil {
		return nil, err
	}
	o.tellMissing(c.Missing)
	if o.verbose {
		fmt.Fprintf(o.Err, "note: the dump is asked as of %s\n", c.Time.Format(time.RFC3339))
	}
	return c, nil
}

// tellMissing names what a dump has and nobody can read.
func (o *options) tellMissing(missing []string) {
	const most = 5
	for i, one := range missing {
		if i == most && !o.verbose {
			fmt.Fprintf(o.Err, "left out: %d more files; -v names them\n", len(missing)-most)
			return
		}
		fmt.Fprintf(o.Err, "left out: %s\n", one)
	}
}

// ofCase asks a case: the namespace that is named, or that of the case. One of all namespaces is
// asked about all of them where nothing says which.
func (o *options) ofCase(c *record.Case, settings ask.Options, everywhere bool) (ask.Asker, error) {
	if everywhere {
		settings.Namespace = ""
	} else {
		settings.Namespace = cmp.Or(settings.Namespace, c.Namespace)
	}
	if settings.Namespace == "" && !everywhere && !o.all && o.selector == "" {
		settings.Namespace = "default"
	}
	return ask.Recorded(c, true, settings)
}

// atHome finds the namespaces of what a case of all namespaces is asked about, where nothing else
// says it.
func (o *options) atHome(targets []ask.Target) {
	if o.dump == "" && o.history == "" || *o.config.Namespace != "" {
		return
	}
	c, err := o.kept()
	if err != nil || c.Namespace != "" {
		return
	}
	for i, t := range targets {
		targets[i].Namespace = c.Home(t.Kind, t.Name)
	}
}

// cluster finds the API server as kubectl does; where nothing is said at all, it
// takes the local node's own kubeconfig.
func (o *options) cluster(settings ask.Options, everywhere bool) (*ask.Cluster, error) {
	local := filepath.Join(o.DataDir, "kubeconfig", "admin.conf")
	if *o.config.KubeConfig == "" && *o.config.APIServer == "" && os.Getenv("KUBECONFIG") == "" && !exists(clientcmd.RecommendedHomeFile) && exists(local) {
		*o.config.KubeConfig = local
	}
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to ask: %w; say --kubeconfig, or --data-dir for the memory of a node on this machine", err)
	}
	config.UserAgent = o.Agent
	settings.Each = config.Timeout // 0 where --request-timeout is not given
	if settings.Namespace == "" && !everywhere {
		if settings.Namespace, _, err = o.config.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, fmt.Errorf("finding the namespace: %w", err)
		}
	}
	if everywhere {
		settings.Namespace = ""
	}
	if o.verbose {
		settings.Told = func(text string) { fmt.Fprintf(o.Err, "note: %s\n", text) }
	}
	return ask.Connect(config, settings)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fromManifests are the things in manifests that can be asked about. Others are passed
// over: a manifest has ConfigMaps, too.
func (o *options) fromManifests() ([]ask.Target, error) {
	b := resource.NewLocalBuilder().Unstructured().Local().ContinueOnError()
	named := resource.FilenameOptions{Recursive: o.within}
	for _, f := range o.files {
		if f == "-" {
			b = b.Stream(o.In, "stdin")
			continue
		}
		named.Filenames = append(named.Filenames, f)
	}
	if len(named.Filenames) > 0 {
		b = b.FilenameParam(false, &named)
	}
	infos, err := b.Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", strings.Join(o.files, " -f "), err)
	}
	var all []ask.Target
	for _, i := range infos {
		if kind, ok := ask.Kind(i.Object.GetObjectKind().GroupVersionKind().Kind); ok && i.Name != "" {
			all = append(all, ask.Target{Kind: kind, Namespace: i.Namespace, Name: i.Name})
		}
	}
	if len(all) == 0 {
		return nil, exit.UsageError("-f %s has nothing in it that runs: %s", strings.Join(o.files, " -f "), strings.Join(ask.Kinds, ", "))
	}
	return all, nil
}

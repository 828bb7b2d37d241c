package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/record"
)

// source finds what is asked: a file, a directory, or the cluster.
func (o *options) source() (ask.Asker, error) {
	return o.asker(ask.Options{Container: o.container, Since: o.since, WithValues: o.withValues, NoFront: o.withValues}, o.everywhere)
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
	case o.history != "":
		if c, err := o.kept(); !errors.Is(err, record.ErrNotRecord) {
			if err != nil {
				return nil, err
			}
			if everywhere {
				settings.Namespace = ""
			} else {
				settings.Namespace = cmp.Or(settings.Namespace, c.Namespace)
			}
			return ask.Recorded(c, true, settings)
		}
		f, err := (journal.Bounds{Bytes: o.most << 20}).OpenFile(o.history)
		if err != nil && !errors.Is(err, journal.ErrCutShort) {
			return nil, err
		}
		return &ask.Journal{Source: f, AsOf: f.Stats().Last, Options: settings}, nil
	case o.dataDir != "":
		r, err := journal.OpenReader(journal.DirBelow(o.dataDir))
		if err != nil {
			return nil, err
		}
		return &ask.Journal{Source: r, Options: settings}, nil
	}
	return o.cluster(settings, everywhere)
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

package observe

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/pods"
)

// configs watches the files that kubelet makes of ConfigMaps and Secrets: when it takes
// a change over, it puts another folder behind a link (pkg/volume/util/atomic_writer.go).
// Nothing is asked of the API server for it. Of Secrets only the names are looked at.
type configs struct {
	seen map[mounted]files
}

// mounted is a volume of a pod that shows a ConfigMap or a Secret.
type mounted struct {
	pod          types.UID
	volume       string
	object, name string
}

// files are what a volume showed at a time, by name; of Secrets without what they hold.
type files struct {
	link  string
	holds map[string][sha256.Size]byte
}

const (
	// lookAtConfigs is how often the links are looked at: a probe may fail at once of what changed.
	lookAtConfigs = time.Second
	// mostKeys bounds the names in a fact, largestFile what is compared of a file.
	mostKeys    = 16
	largestFile = 1 << 20
)

// run looks until ctx ends.
func (c *configs) run(ctx context.Context, p kubelet.Process, all func() []pods.Pod, emit func(fact.Fact)) {
	ticker := time.NewTicker(lookAtConfigs)
	defer ticker.Stop()
	for {
		for _, f := range c.look(p.Root+p.Dir(), all()) {
			emit(f)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look tells what changed since the last look.
func (c *configs) look(dir string, all []pods.Pod) []fact.Fact {
	var told []fact.Fact
	there := map[mounted]files{}
	for _, pod := range all {
		for m, plugin := range mountsOf(pod) {
			path := filepath.Join(dir, "pods", string(pod.Key.UID), "volumes", plugin, m.volume)
			link, err := os.Readlink(filepath.Join(path, "..data"))
			if err != nil {
				continue // not there yet, or gone
			}
			was, known := c.seen[m]
			if known && was.link == link {
				there[m] = was
				continue
			}
			is := files{link, holdsOf(path, m.object == "ConfigMap")}
			there[m] = is
			if keys := changedKeys(was, is); known && (len(keys) > 0 || m.object == "Secret") {
				told = append(told, fact.Fact{At: changedAt(path), Pod: pod.Key, Body: fact.ConfigChanged{Object: m.object, Name: m.name, Keys: keys}})
			}
		}
	}
	c.seen = there
	return told
}

// mountsOf are a pod's volumes of ConfigMaps and Secrets, with the plugin that makes
// them. Projected ones are left out: their tokens change all the time.
func mountsOf(pod pods.Pod) map[mounted]string {
	all := map[mounted]string{}
	if pod.Object == nil {
		return nil
	}
	for _, v := range pod.Object.Spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			all[mounted{pod.Key.UID, v.Name, "ConfigMap", v.ConfigMap.Name}] = "kubernetes.io~configmap"
		case v.Secret != nil:
			all[mounted{pod.Key.UID, v.Name, "Secret", v.Secret.SecretName}] = "kubernetes.io~secret"
		}
	}
	return all
}

func holdsOf(path string, contents bool) map[string][sha256.Size]byte {
	all := map[string][sha256.Size]byte{}
	entries, err := os.ReadDir(path)
	if err != nil {
		return all
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		var sum [sha256.Size]byte
		if contents {
			if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil && info.Mode().IsRegular() && info.Size() <= largestFile {
				b, _ := os.ReadFile(filepath.Join(path, e.Name())) // unreadable: as if it were empty
				sum = sha256.Sum256(b)
			}
		}
		all[e.Name()] = sum
	}
	return all
}

func changedKeys(was, is files) []string {
	var keys []string
	for name, sum := range is.holds {
		if old, there := was.holds[name]; !there || old != sum {
			keys = append(keys, name)
		}
	}
	for name := range was.holds {
		if _, there := is.holds[name]; !there {
			keys = append(keys, name)
		}
	}
	keys = slices.Sorted(slices.Values(keys))
	return keys[:min(len(keys), mostKeys)]
}

// changedAt is when the link was put in its place.
func changedAt(path string) time.Time {
	info, err := os.Lstat(filepath.Join(path, "..data"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

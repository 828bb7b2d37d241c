package volumes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/kubelet/token"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/image"
	"k8s.io/kubernetes/pkg/volume/local"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"

	"whylet.dev/whylet/sense"
)

// Config is what the volumes of a node depend on.
type Config struct {
	// DataDir is the node's directory; pods/ and plugins/ below it are ours.
	DataDir  string
	NodeName string
	// Client has the node's own rights: it reads the ConfigMaps, Secrets, claims
	// and volumes of the pods bound to the node, and asks for their tokens.
	Client kubernetes.Interface
	// Node gives the node's object as last known. Its allocatable memory bounds
	// memory backed volumes, its labels decide whether a local volume is here.
	Node func() (*v1.Node, error)
	// Event is told what a plugin wants known about a pod. May be nil.
	Event func(object runtime.Object, eventType, reason, message string)
	// Failed is told that new contents could not be brought into a running pod;
	// err is a Failures. It is tried again. May be nil.
	Failed func(pod *v1.Pod, err error)
	Log    *slog.Logger
}

// The names of directories below DataDir and below a pod's directory, as kubelet
// has them.
const (
	podsName       = "pods"
	pluginsName    = "plugins"
	volumesName    = "volumes"
	subPathsName   = "volume-subpaths"
	devicesName    = "volumeDevices"
	containersName = "containers"
)

// Manager has the volumes of all pods of a node. Its methods may be called
// concurrently; work on one pod's volumes is done one after the other.
type Manager struct {
	cfg       Config
	podsDir   string
	mounter   mount.Interface
	subpather subpath.Interface
	hostutil  hostutil.HostUtils
	plugins   volume.VolumePluginMgr
	tokens    *token.Manager
	configs   *sense.Configs
	// certificates has what projected volumes hold beside the objects in configs.
	certificates *certificates

	queue   workqueue.TypedRateLimitingInterface[types.UID]
	workers sync.WaitGroup
	cancel  context.CancelCauseFunc

	// devices keeps mounting and unmounting of shared block devices apart.
	devices sync.Mutex

	mu   sync.Mutex
	pods map[types.UID]*podVolumes
	// claimed lists the pods that use a persistent volume.
	claimed map[string]sets.Set[types.UID]
}

// podVolumes is what is known of one pod's volumes.
type podVolumes struct {
	// work is held while volumes are mounted, written or unmounted. It guards ready:
	// SetUp succeeded, contents are kept fresh.
	work  sync.Mutex
	ready bool

	mu      sync.Mutex
	gone    bool    // torn down, or about to be
	pod     *v1.Pod // as last seen; nil when only its directory is known
	mounted map[string]mounted
	usage   Usage
}

// mounted is a volume that is ready to be used by the pod's containers.
type mounted struct {
	mounter  volume.Mounter
	specName string // the volume's name, or the persistent volume's
	gid      string // the group that the persistent volume asks for, or ""
}

// errClosed ends what waits when the manager is closed.
var errClosed = errors.New("the node's volumes are closed")

// New makes the directories and starts the workers that keep contents fresh.
// Volumes that an earlier agent mounted stay as they are until their pod is set
// up again or torn down.
func New(cfg Config) (*Manager, error) {
	m := &Manager{
		cfg:     cfg,
		podsDir: filepath.Join(cfg.DataDir, podsName),
		mounter: newMounter(),
		pods:    map[types.UID]*podVolumes{},
		claimed: map[string]sets.Set[types.UID]{},
	}
	for _, dir := range []string{m.podsDir, filepath.Join(cfg.DataDir, pluginsName)} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, fmt.Errorf("volumes need a directory of their own: %w", err)
		}
	}
	m.subpather = subpath.New(m.mounter)
	m.hostutil = hostutil.NewHostUtil()
	m.tokens = token.NewManager(cfg.Client)
	if err := m.plugins.InitPlugins(plugins(), nil, host{m}); err != nil {
		return nil, fmt.Errorf("volume plugins: %w", err)
	}
	// The plugin looks for tmpfs's noswap option by a trial mount in its directory.
	if err := os.MkdirAll(host{m}.GetPluginDir("kubernetes.io/empty-dir"), 0o750); err != nil {
		return nil, fmt.Errorf("volumes need a directory of their own: %w", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	m.cancel = cancel
	m.configs = newConfigs(ctx, cfg.Client, m.configChanged)
	m.certificates = &certificates{m: m, ctx: ctx}
	m.startRefresh(ctx)
	return m, nil
}

func plugins() []volume.VolumePlugin {
	var all []volume.VolumePlugin
	for _, some := range [][]volume.VolumePlugin{
		emptydir.ProbeVolumePlugins(),
		hostpath.ProbeVolumePlugins(volume.VolumeConfig{}),
		configmap.ProbeVolumePlugins(),
		secret.ProbeVolumePlugins(),
		downwardapi.ProbeVolumePlugins(),
		projected.ProbeVolumePlugins(),
		local.ProbeVolumePlugins(),
		image.ProbeVolumePlugins(),
	} {
		all = append(all, some...)
	}
	return all
}

// Close stops watching and refreshing. What is mounted stays mounted.
func (m *Manager) Close() {
	m.cancel(errClosed)
	m.queue.ShutDown()
	m.workers.Wait()
}

// PodsDir is the folder that has a directory of each pod, named by its UID.
func (m *Manager) PodsDir() string { return m.podsDir }

// Path is where the contents of a mounted volume of the pod are.
func (m *Manager) Path(uid types.UID, volume string) (string, error) {
	if p, ok := m.lookup(uid); ok {
		if v, ok := p.volume(volume); ok {
			return volumeutil.GetPath(v.mounter)
		}
	}
	return "", fmt.Errorf("volume %q is not mounted", volume)
}

// podDir is the pod's directory.
func (m *Manager) podDir(uid types.UID) string {
	return filepath.Join(m.podsDir, string(uid))
}

// of gives what is known of a pod, and begins to know it if needed.
func (m *Manager) of(uid types.UID) *podVolumes {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pods[uid]
	if !ok {
		p = &podVolumes{mounted: map[string]mounted{}}
		m.pods[uid] = p
	}
	return p
}

// lookup is of without the beginning.
func (m *Manager) lookup(uid types.UID) (*podVolumes, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pods[uid]
	return p, ok
}

// volume gives a mounted volume of the pod.
func (p *podVolumes) volume(name string) (mounted, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.mounted[name]
	return v, ok
}

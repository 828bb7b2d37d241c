package images

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/kubelet/images/pullmanager"

	"whylet.dev/whylet/node/cri"
)

// DefaultParallel is how many pulls run at once. kubelet's default is one after
// the other, where a slow registry holds up every pod of the node.
const DefaultParallel = 4

// Options say how images are pulled and kept; zero values mean the defaults.
type Options struct {
	// DataDir is where it is remembered who pulled what (image_manager/ below it),
	// and the first place to look for the node's own registry credentials (config.json).
	DataDir string
	// Parallel is how many pulls run at once ([DefaultParallel]).
	Parallel int
	// Secrets reads the pods' imagePullSecrets. Nil: there are none.
	Secrets cri.Secrets
	// Recorder takes the event about pull secrets that could not be read. May be nil.
	Recorder record.EventRecorder
	// Policy is when unused images are removed ([DefaultPolicy]).
	Policy GCPolicy
	Log    *slog.Logger
}

// Manager pulls, lists and removes images. It is safe for concurrent use.
type Manager struct {
	client  *cri.Client
	service internalapi.ImageManagerService
	options Options
	node    credentialprovider.DockerKeyring
	access  *pullmanager.PullManager
	slots   chan struct{}

	collecting sync.Mutex
	records    map[string]sighting // guarded by collecting
}

// New makes a manager of the runtime's images. It fails when DataDir cannot be
// written.
func New(ctx context.Context, client *cri.Client, o Options) (*Manager, error) {
	if o.Parallel < 1 {
		o.Parallel = DefaultParallel
	}
	if o.Policy == (GCPolicy{}) {
		o.Policy = DefaultPolicy
	}
	m := &Manager{
		client: client, service: client.Images(), options: o,
		node:    nodeKeyring(o.DataDir),
		slots:   make(chan struct{}, o.Parallel),
		records: map[string]sighting{},
	}
	var err error
	if m.access, err = newAccess(ctx, o.DataDir, m.service); err != nil {
		return nil, fmt.Errorf("remember who pulled what below %s: %w", o.DataDir, err)
	}
	return m, nil
}

// slot waits until a pull may run. It says how long that took.
func (m *Manager) slot(ctx context.Context) (done func(), waited time.Duration, err error) {
	began := time.Now()
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, time.Since(began), nil
	case <-ctx.Done():
		return nil, time.Since(began), ctx.Err()
	}
}

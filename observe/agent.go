package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	"whylet.dev/whylet/observe/api"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/observe/runtime"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense"
	"whylet.dev/whylet/sense/containers"
)

// Options say what to watch.
type Options struct {
	// Node is the node's name, Kubeconfig how the API server is reached; empty: as the
	// pod that this runs in.
	Node, Kubeconfig string
	// Runtime is the runtime's endpoint; empty: it is looked for. "none": there is none
	// to be asked.
	Runtime string
	// DataDir holds the journal.
	DataDir string
	Version string
	// NoProbeAgain leaves out the one thing that a workload may notice: one more request
	// after a probe of kubelet's timed out.
	NoProbeAgain bool
	// NoLogLines keeps no lines of containers' logs.
	NoLogLines bool
	// NoTap leaves kubelet's packets alone.
	NoTap bool
	// Ready is called once what is there has been seen.
	Ready func()
	Log   *slog.Logger
}

// Agent watches the pods of one node. Make it with Open.
type Agent struct {
	o       Options
	api     *api.Client
	runtime *runtime.Client // nil: there is none
	journal *fold.Journal
	loop    *loop
	trouble *troubles
	words   *words
	kernel  *kernel
	counts  *counts
	execs   execs
	configs configs
	// attempts are kubelet's own, by the tap.
	attempts *attempts
	// before is when an earlier agent was last heard of.
	before time.Time

	// requests are who asked for the end of pods.
	requests chan fact.Fact

	// synced is closed once the pods of the node are seen, listed once the runtime has told
	// what it had at the beginning.
	synced, listed chan struct{}

	mu   sync.Mutex
	seen map[types.UID]bool // pods that the API server has
}

// JournalDir is where the journal is below a data directory.
func JournalDir(data string) string { return filepath.Join(data, "journal") }

// Journal is what the agent remembers.
func (a *Agent) Journal() *journal.Journal { return a.journal.Journal }

// ReadyFile is there while an agent has seen its node's pods.
func ReadyFile(data string) string { return filepath.Join(data, "ready") }

// journalBytes and journalAge bound the node's memory. journalSync is how much of it a loss
// of power may take.
const (
	journalBytes = 128 << 20
	journalAge   = 14 * 24 * time.Hour
	journalSync  = time.Second
)

// Open connects to what there is, and reads what an earlier agent knew.
func Open(ctx context.Context, o Options) (*Agent, error) {
	c, err := newClock()
	if err != nil {
		return nil, err
	}
	a := &Agent{o: o, seen: map[types.UID]bool{}, synced: make(chan struct{}), listed: make(chan struct{}), requests: make(chan fact.Fact, mostRequests)}
	if a.api, err = api.Open(o.Kubeconfig); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.Remove(ReadyFile(o.DataDir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	a.journal, err = fold.Open(JournalDir(o.DataDir), journal.Options{MaxBytes: journalBytes, MaxAge: journalAge, SyncEvery: journalSync, Log: o.Log}, fold.Options{})
	if err != nil {
		return nil, err
	}
	a.loop = newLoop(a.journal, c, o.Log)
	a.loop.keep = sense.NewNamespaces(a.api.Annotations, o.Log).Keep
	if a.before, err = a.loop.restore(a.journal); err != nil {
		return nil, errors.Join(err, a.journal.Close())
	}
	a.journal.SetLive(func(uid types.UID) bool { _, ok := a.loop.pods.Get(uid); return ok })
	a.openRuntime(ctx)
	a.trouble, a.words = newTroubles(a), newWords(a)
	a.attempts, a.counts = newAttempts(a), newCounts(a)
	if a.kernel, err = openKernel(a); err != nil {
		o.Log.Warn("containers are not looked into", "error", err)
	}
	a.trouble.signals = slices.Contains(a.kernel.sources(), "signals")
	a.loop.heard = a.heard
	return a, nil
}

// openRuntime connects to the runtime. Without one the API alone tells what it can.
func (a *Agent) openRuntime(ctx context.Context) {
	if a.o.Runtime == "none" {
		return
	}
	endpoint := findRuntime(a.o.Runtime)
	if endpoint == "" {
		a.o.Log.Warn("no container runtime was found, so ends of containers are known from the API server only; say --runtime-endpoint, in a cluster by kubectl why install --runtime-endpoint or agent.runtimeEndpoint of the chart")
		return
	}
	client, err := runtime.Dial(ctx, endpoint)
	if err != nil {
		a.o.Log.Warn("ends of containers are known from the API server only", "error", err)
		return
	}
	a.runtime = client
	a.o.Log.Info("container runtime found", "endpoint", endpoint, "name", client.Name, "version", client.Version)
}

// machine is the root of the machine's first process.
const machine = "/proc/1/root"

// findRuntime is the endpoint that was named, else the one that kubelet is configured with,
// else one at a usual place. In a pod, sockets are where the machine's first process has its
// root.
func findRuntime(named string) string {
	if named != "" {
		return cmp.Or(reachable(named, "", machine), named)
	}
	if k, ok := kubelet.Find(); ok {
		// Its own root comes last, since it is gone when kubelet starts anew.
		if endpoint := reachable(k.Endpoint(), "", machine, k.Root); endpoint != "" {
			return endpoint
		}
	}
	return cmp.Or(runtime.Find(""), runtime.Find(machine))
}

// reachable is an endpoint below the first of some roots that has it; empty below none.
func reachable(endpoint string, roots ...string) string {
	path, _ := strings.CutPrefix(endpoint, "unix://")
	if path == "" {
		return ""
	}
	for _, root := range roots {
		// /var/run is mostly an absolute link to /run, which leads elsewhere from another root.
		for _, at := range []string{path, strings.TrimPrefix(path, "/var")} {
			if info, err := os.Stat(root + at); err == nil && info.Mode()&os.ModeSocket != 0 {
				return "unix://" + root + at
			}
		}
	}
	return ""
}

// Close ends what Open began.
func (a *Agent) Close() error {
	var errs []error
	if a.runtime != nil {
		errs = append(errs, a.runtime.Close())
	}
	a.kernel.close()
	return errors.Join(append(errs, a.journal.Close())...)
}

// mostRequests is how many requests wait to be written down; more are dropped.
const mostRequests = 64

// Requested takes who asked for a pod's end ([fact.Requested]). It does not block.
func (a *Agent) Requested(f fact.Fact) {
	select {
	case a.requests <- f:
	default:
	}
}

func (a *Agent) heard(f fact.Fact) {
	a.trouble.heard(f)
	a.kernel.heard(f)
	a.counts.heard(f)
	a.attempts.heard(f)
}

// varies says whether a container's runs may be given other variables; also where its pod
// is not known yet.
func (a *Agent) varies(uid types.UID, container string) bool {
	pod, known := a.loop.pods.Get(uid)
	spec, ok := pod.Spec(container)
	return !known || ok && fact.TakesVariables(spec)
}

// Run watches until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	a.start()
	a.resume()
	loopCtx, stopLoop := context.WithCancel(context.Background())
	var loop, sources sync.WaitGroup
	loop.Go(func() { a.loop.run(loopCtx) })
	if a.runtime != nil {
		s := runtime.Source{
			Client: a.runtime, Root: a.runtime.Root, Complete: a.kernel.complete, LastSaid: a.logReader(), ExecEnded: a.execs.ended,
			Told: func() { close(a.listed) }, Varies: a.varies, Log: a.o.Log,
		}
		sources.Go(func() { _ = s.Run(ctx, a.loop.submit) }) // it ends with ctx only
	}
	sources.Go(func() { a.watch(ctx) })
	sources.Go(func() { a.trouble.run(ctx) })
	sources.Go(func() { a.words.run(ctx) })
	sources.Go(func() { _ = sense.Audit(a.requests).Run(ctx, a.loop.pods, a.loop.submit) }) // it ends with ctx only
	sources.Go(func() { a.kernel.run(ctx) })
	sources.Go(func() { a.counts.run(ctx) })
	sources.Go(func() { a.loop.shed.run(ctx, a.loop.submit) })
	sources.Go(func() { a.tellCost(ctx) })
	sources.Go(func() { lean(ctx) })
	<-ctx.Done()
	sources.Wait()
	a.loop.submit(fact.Fact{Body: fact.AgentStopped{}})
	stopLoop()
	loop.Wait()
	return nil
}

// resume takes up the pods that an earlier agent knew: what has not changed since then is not
// told again. Of those that are over nothing new is to be read: there may be many.
func (a *Agent) resume() {
	for _, pod := range a.loop.pods.All() {
		if s := a.loop.shadows[pod.Key.UID].Status; s != nil && !pod.Finished() {
			a.trouble.heard(fact.Fact{Pod: pod.Key, Body: fact.StatusSeen{Status: *s}})
		}
		for name, c := range pod.Containers {
			if c.Running {
				a.kernel.processes.Hear(fact.Fact{Pod: pod.Key, Container: name, Attempt: c.Attempt, Body: fact.Started{ContainerID: c.ID, PID: c.PID}})
			}
		}
	}
}

// costEvery is how often the agent says what it cost so far.
const costEvery = 10 * time.Minute

// tellCost logs how much was asked of others, now and then and at the end.
func (a *Agent) tellCost(ctx context.Context) {
	ticker := time.NewTicker(costEvery)
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-ticker.C:
		}
		calls := int64(0)
		if a.runtime != nil {
			calls = a.runtime.Calls()
		}
		a.o.Log.Info("asked so far", "apiServer", a.api.Requests(), "kubelet", a.api.Asked(), "runtime", calls, "facts", a.journal.Stats().Facts, "memoryMiB", memoryUsed()>>20)
	}
}

// start tells that this agent looks from now on.
func (a *Agent) start() {
	b := fact.AgentStarted{Version: a.o.Version, PID: os.Getpid(), Previous: fact.NoRunBefore, Beside: "kubelet", Sources: a.kernel.sources()}
	if !a.before.IsZero() {
		b.Previous, b.LastSeen = fact.RunKilled, a.before
		for f, err := range a.journal.Query(journal.Query{Node: true, Reverse: true, Limit: 1}) {
			if _, ok := f.Body.(fact.AgentStopped); ok && err == nil {
				b.Previous = fact.RunClean
			}
		}
	}
	f := fact.Fact{Body: b}
	a.loop.clock.stamp(&f)
	a.loop.write(f)
}

// statusLater is how long what only the status tells of starts and ends waits for the
// runtime's own word of it, which has finer times and more to say.
const statusLater = 2 * time.Second

func (a *Agent) watch(ctx context.Context) {
	w := api.Watch{
		Client: a.api, Node: a.o.Node, Log: a.o.Log, Kubelet: dialPods,
		Changed: func(pod *v1.Pod, gone bool) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if uid := api.KeyOf(pod).UID; gone {
				delete(a.seen, uid)
			} else {
				a.seen[uid] = true
			}
		},
		Synced: func() {
			a.loop.vanished(func(uid types.UID) bool {
				a.mu.Lock()
				defer a.mu.Unlock()
				return a.seen[uid]
			})
			close(a.synced)
			a.o.Log.Info("the pods of the node are seen", "node", a.o.Node)
			if err := os.WriteFile(ReadyFile(a.o.DataDir), nil, 0o600); err != nil {
				a.o.Log.Warn("nobody can be told that the agent is ready", "error", err)
			}
			if a.o.Ready != nil {
				a.o.Ready()
			}
		},
	}
	_ = w.Run(ctx, func(f fact.Fact) { // it ends with ctx only
		if a.runtime != nil && runtimesWord(f) {
			time.AfterFunc(statusLater, func() { a.loop.submit(a.filled(f)) })
			return
		}
		a.loop.submit(a.filled(f))
	})
}

// dialPods connects to the pods API of the kubelet in this network namespace.
func dialPods(ctx context.Context) (net.Conn, error) {
	k, ok := kubelet.Find()
	if !ok || !k.Here() {
		return nil, errors.New("no kubelet runs in this network namespace")
	}
	return k.DialPods(ctx)
}

// hasImage says whether a container runs on the node with an image of that name.
func (a *Agent) hasImage(name string) bool {
	return slices.ContainsFunc(a.loop.pods.All(), func(p pods.Pod) bool {
		for of, c := range p.Containers {
			if spec, ok := p.Spec(of); ok && c.Running && spec.Image == name {
				return true
			}
		}
		return false
	})
}

// filled adds to what only the status tells of: to an end what was logged before it, and to
// an image that could not be pulled whether the node has it.
func (a *Agent) filled(f fact.Fact) fact.Fact {
	if b, ok := f.Body.(fact.ImageFailed); ok {
		b.OnNode = a.hasImage(b.Image)
		f.Body = b
	}
	b, ok := f.Body.(fact.Exited)
	if r, known := a.loop.runs.known(f.Pod.UID, f.Container, b.ContainerID); !ok || known && r.over {
		return f
	}
	if a.runtime != nil { // it was too busy to tell
		a.kernel.complete(&b, f.At)
	}
	of := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Pod.Namespace, Name: f.Pod.Name, UID: f.Pod.UID}}
	if read := a.logReader(); read != nil {
		b.Hear(read(containers.LogFile(a.logs(), of, f.Container, f.Attempt)), f.When())
	}
	f.Body = b
	return f
}

// runtimesWord says whether the runtime tells the same, and better.
func runtimesWord(f fact.Fact) bool {
	switch f.Body.(type) {
	case fact.Started, fact.Exited:
		return true
	}
	return false
}

// quieter says whether a failed attempt that an event tells of is told by somebody who
// hears of each.
func (a *Agent) quieter(uid types.UID, container string, kind fact.ProbeKind) bool {
	return a.words.tellsFailures() || a.attempts.tells(uid, container, kind)
}

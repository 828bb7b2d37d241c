package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"whylet.dev/whylet/cluster/runtime/bridge"
)

// stopGrace is how long containerd has to end after SIGTERM. It has nothing to
// finish: its database is transactional and containers belong to their shims.
const stopGrace = 5 * time.Second

// Runtime is a supervised containerd. All methods may be called concurrently.
type Runtime struct {
	config   Config
	degraded []string

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}

	mu  sync.Mutex
	pid int
}

// Start makes the pods' network and sees to it that containerd runs: one that an
// earlier agent left is adopted when it is the same build with the same
// configuration in the same network namespace and answers; otherwise it is
// replaced. Start returns when containerd is ready for pods, that is, with the
// pods' network configured and the sandbox image loaded.
//
// ctx bounds the start only. Two Starts on one data directory at once are the
// caller's to prevent.
func Start(ctx context.Context, config Config) (*Runtime, error) {
	c, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if config.Libexec == "" && carriesHelpers(c.Executable) {
		c.Libexec = filepath.Join(c.DataDir, "libexec") // where UseHelpers put them
	}
	missing, err := MissingHelpers(c.Libexec)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("helper program %s is missing: run make build", missing[0])
	}
	m, degraded, err := inspect(c.DataDir)
	if err != nil {
		return nil, err
	}
	missed, err := prepareNetwork(ctx, c)
	if err != nil {
		return nil, err
	}
	degraded = append(degraded, missed...)
	image, err := newPauseImage(c.Libexec)
	if err != nil {
		return nil, err
	}
	changed, err := writeConfig(c, m, image.name)
	if err != nil {
		return nil, err
	}
	for _, d := range degraded {
		c.Log.Warn("degraded", "what", d)
	}
	r := &Runtime{config: c, degraded: degraded, stop: make(chan struct{}), done: make(chan struct{})}
	proc, err := r.takeOrSpawn(ctx, changed)
	if err != nil {
		return nil, err
	}
	if err := image.ensure(ctx, c.paths().socket); err != nil {
		return nil, errors.Join(err, proc.terminate(ctx, stopGrace))
	}
	go r.supervise(proc)
	return r, nil
}

// prepareNetwork makes what pods' addresses need. What is missing but not fatal
// is returned as a sentence.
func prepareNetwork(ctx context.Context, c Config) (missed []string, err error) {
	if err := bridge.Ensure(c.Bridge, c.PodCIDR); err != nil {
		return nil, err
	}
	if err := ensureMasquerade(ctx, c); err != nil {
		return nil, err
	}
	if err := writeNetworkConfig(c); err != nil {
		return nil, err
	}
	if err := setNetworkSysctls(); err != nil {
		missed = append(missed, fmt.Sprintf("%v: Services do not answer between two pods of this node", err))
	}
	return missed, nil
}

// writeConfig writes what containerd reads, and tells whether its configuration changed.
func writeConfig(c Config, m machine, pauseImage string) (bool, error) {
	p := c.paths()
	for _, dir := range []string{p.run, p.root, p.shimSockets, p.certs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("making %s: %w", dir, err)
		}
	}
	// Pods with users of their own reach their containers' roots through it.
	if err := os.Chmod(p.run, 0o711); err != nil {
		return false, fmt.Errorf("opening the way to the containers' files: %w", err)
	}
	profile, err := pauseProfile()
	if err != nil {
		return false, err
	}
	if err := writeFile(PauseSeccomp(c.DataDir), profile); err != nil {
		return false, err
	}
	want, err := containerdConfig(c, m, pauseImage)
	if err != nil {
		return false, err
	}
	have, err := os.ReadFile(p.config)
	if err == nil && bytes.Equal(have, want) {
		return false, nil
	}
	return true, writeFile(p.config, want)
}

// takeOrSpawn adopts the containerd that runs, or replaces it, or starts one.
func (r *Runtime) takeOrSpawn(ctx context.Context, configChanged bool) (*process, error) {
	c := r.config
	pids, err := findProcesses(c.isContainerd)
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		proc, err := adopt(pid, func(pid int) bool { return c.isContainerd(commandLine(pid)) })
		if err != nil {
			continue
		}
		reason := staleReason(c, pid, configChanged)
		if reason == "" {
			err := waitReady(ctx, r.Endpoint(), proc.exited, 5*time.Second)
			if err == nil {
				r.event(Event{Kind: Adopted, PID: pid})
				return proc, nil
			}
			reason = err.Error()
		}
		r.event(Event{Kind: Replaced, PID: pid, Err: errors.New(reason)})
		if err := proc.terminate(ctx, stopGrace); err != nil {
			return nil, err
		}
		proc.close()
	}
	return r.spawnReady(ctx)
}

// spawnReady starts containerd and waits until it answers.
func (r *Runtime) spawnReady(ctx context.Context) (*process, error) {
	proc, err := spawn(r.config)
	if err != nil {
		return nil, err
	}
	if err := waitReady(ctx, r.Endpoint(), proc.exited, r.config.StartTimeout); err != nil {
		failure := fmt.Errorf("containerd did not start: %w; its log: %s%s", err, r.config.paths().log, lastLine(r.config.paths().log))
		return nil, errors.Join(failure, proc.terminate(ctx, stopGrace))
	}
	r.event(Event{Kind: Started, PID: proc.pid})
	return proc, nil
}

// event keeps the pid and tells the log and the caller.
func (r *Runtime) event(e Event) {
	r.mu.Lock()
	switch e.Kind {
	case Started, Adopted:
		r.pid = e.PID
	default:
		r.pid = 0
	}
	r.mu.Unlock()
	level := r.config.Log.Info
	if e.Err != nil {
		level = r.config.Log.Warn
	}
	level("containerd", "event", e.Kind, "pid", e.PID, "error", e.Err, "delay", e.Delay)
	if r.config.OnEvent != nil {
		r.config.OnEvent(e)
	}
}

// Endpoint is the CRI endpoint, unix:///….
func (r *Runtime) Endpoint() string { return Endpoint(r.config.DataDir) }

// PID is containerd's process, 0 while there is none.
func (r *Runtime) PID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pid
}

// Degraded says in a sentence each what the machine does not allow.
func (r *Runtime) Degraded() []string { return r.degraded }

// Stop ends the supervision and containerd, and returns when both are over.
// Containers keep running: their shims hold them. When ctx ends first,
// containerd is killed.
func (r *Runtime) Stop(ctx context.Context) error {
	r.stopOnce.Do(func() { close(r.stop) })
	<-r.done
	return Halt(ctx, r.config.DataDir)
}

// endProcess ends a process that still matches.
func endProcess(ctx context.Context, pid int, match func([]string) bool) error {
	proc, err := adopt(pid, func(pid int) bool { return match(commandLine(pid)) })
	if err != nil {
		return nil // It is gone already, which is what was wanted.
	}
	if err := proc.terminate(ctx, stopGrace); err != nil {
		return err
	}
	proc.close()
	return nil
}

// AfterReboot removes what a reboot has ended: sockets, bundles and mount points
// of containers that are gone; and restores what it may have torn. Call it before Start in the first start after one.
func AfterReboot(dataDir string) error {
	run := RunDir(dataDir)
	if err := unmountBelow(run); err != nil {
		return err
	}
	if err := os.RemoveAll(run); err != nil {
		return fmt.Errorf("removing what the reboot ended: %w", err)
	}
	return restoreMetadata(Config{DataDir: dataDir}.paths().root)
}

// Halt ends the containerd of a data directory whose agent is gone. Containers
// keep running. No containerd is no error.
func Halt(ctx context.Context, dataDir string) error {
	c := Config{DataDir: dataDir}
	pids, err := findProcesses(c.isContainerd)
	for _, pid := range pids {
		err = errors.Join(err, endProcess(ctx, pid, c.isContainerd))
	}
	return err
}

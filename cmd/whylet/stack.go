package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node"
	"whylet.dev/whylet/node/credentials"
)

// stopTimeout bounds an orderly stop of each part.
const stopTimeout = 20 * time.Second

// gcPercent makes the garbage collector run earlier than by default, as most of
// the heap is the API server's schemas and caches, which hardly change: measured
// at idle it saves 24 MB and costs no CPU time that could be told from noise.
// Set GOGC to choose otherwise.
const gcPercent = 50

// stack is a running node with what it stands on: the container runtime and, for
// up, the control plane.
type stack struct {
	dataDir  string
	instance instance
	limits   limits // what the instance's settings come to
	report   report
	log      *slog.Logger

	runtime     *runtime.Runtime
	cluster     *cluster.Cluster
	stopControl context.CancelFunc
	// credentials are renewed while the node runs; none with a control plane of
	// its own, which renews all certificates itself.
	credentials []*credentials.Credential
	// told carries what the control plane tells the node of pods. Nobody waits for
	// a place in it: answers then know less.
	told chan fact.Fact
	// reported is closed when the node has said for the first time how it is. What
	// the API server has of it until then is what an earlier process said.
	reported chan struct{}
	// watchdog is systemd's, if it has one for this process.
	watchdog *watchdog
	// runtimeAway is set when the runtime that the node had before did not answer.
	runtimeAway bool
}

func (s *stack) tell(f fact.Fact) {
	select {
	case s.told <- f:
	default:
	}
}

// control is the control plane's configuration.
func (s *stack) control() cluster.Config {
	set := s.instance.Settings
	ip := s.instance.NodeIP
	if ip == "" {
		ip = cluster.DefaultHostAddress // Not known yet: to check the rest.
	}
	return cluster.Config{
		DataDir:     s.dataDir,
		NodeName:    set.NodeName,
		NodeIP:      ip,
		APIAddress:  set.APIAddress,
		APIPort:     set.APIPort,
		PodCIDR:     set.PodCIDR,
		ServiceCIDR: set.ServiceCIDR,
		Kubeconfig:  set.Kubeconfig,
		Tell:        s.tell,
		Progress:    s.report.step,
		Log:         s.log,
	}
}

// runtimeConfig is the configuration of the data directory's own containerd.
func runtimeConfig(dataDir string, set settings, log *slog.Logger) (runtime.Config, error) {
	c := runtime.Config{DataDir: dataDir, CgroupRoot: cgroupRoot(dataDir), Log: log}
	if set.PodCIDR == "" {
		return c, nil
	}
	cidr, err := netip.ParsePrefix(set.PodCIDR)
	if err != nil {
		return c, exit.UsageError("--pod-cidr: %w", err)
	}
	c.PodCIDR = cidr
	return c, nil
}

// run starts everything, reports when the node is Ready, and stops everything
// again in order when ctx ends or a part fails.
func (s *stack) run(ctx context.Context, previous instance) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s.report.step("checking the machine")
	if err := s.checkMachine(); err != nil {
		return err
	}
	// Before anything is written down: the next start is not to go on with a runtime
	// that was refused.
	if endpoint := s.instance.Settings.RuntimeEndpoint; endpoint != "" {
		err := s.checkRuntime(ctx)
		// One that the node had before is waited for, and looked at when it is back.
		s.runtimeAway = errors.Is(err, runtime.ErrNoAnswer) && previous.Settings.RuntimeEndpoint == endpoint
		if err != nil && !s.runtimeAway {
			return err
		}
	}
	if err := s.prepare(previous); err != nil {
		return err
	}
	if err := runtime.UseHelpers(s.dataDir); err != nil {
		return err
	}
	file := openLog(s.dataDir)
	defer file.Close()
	s.log = slog.New(slog.NewTextHandler(file, nil))
	slog.SetDefault(s.log)
	// What Kubernetes' and gRPC's packages have to say would be on the terminal else.
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelWarn})))
	s.log.Info("starting", "command", s.instance.Command, "version", version, "settings", s.instance.Settings)

	starting, started := context.WithCancel(ctx)
	defer started()
	if s.watchdog = newWatchdog(s.log); s.watchdog.every > 0 {
		go s.watchdog.whileStarting(starting)
	}
	err := s.start(ctx)
	if err == nil {
		err = s.runNode(ctx)
	}
	var again *node.ControlPlaneEnded
	if errors.As(err, &again) && ctx.Err() == nil {
		return s.again(again)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("the node ends", "error", err)
	} else {
		err = nil // Being told to stop is no failure.
	}
	return errors.Join(err, s.stop())
}

// again starts the process anew after its control plane had ended.
func (s *stack) again(why error) error {
	s.log.Info("starting anew", "because", why)
	return startAnew(s.instance.ReadyAt == nil)
}

// prepare writes down who runs the node, before anything is started.
func (s *stack) prepare(previous instance) error {
	if err := s.instance.self(); err != nil {
		return err
	}
	if err := errors.Join(ensureTemp(os.TempDir()), ensureHosts(hostsFile)); err != nil {
		return err
	}
	// Others may pass through, to what lies in run: the root of a pod with users of
	// its own is none of the machine's. All else in it is closed to them.
	if err := os.Chmod(s.dataDir, 0o711); err != nil {
		return fmt.Errorf("opening the way to the containers' files: %w", err)
	}
	if previous.BootID != "" && previous.BootID != s.instance.BootID {
		if err := runtime.AfterReboot(s.dataDir); err != nil {
			return err
		}
	}
	address, found, err := defaultRouteAddress()
	if err != nil {
		return err
	}
	s.instance.NodeIP = address.String()
	if !found {
		// A bare network namespace: the address that the control plane makes for
		// itself, or the pods' gateway where there is no control plane of ours.
		s.instance.NodeIP = cluster.DefaultHostAddress
		if s.instance.Command == "node" {
			cidr, err := netip.ParsePrefix(s.instance.Settings.PodCIDR)
			if err != nil {
				return exit.UsageError("--pod-cidr: %w", err)
			}
			s.instance.NodeIP = runtime.Gateway(cidr).String()
		}
	}
	s.instance.Endpoint = s.instance.Settings.RuntimeEndpoint
	if s.instance.Endpoint == "" {
		s.instance.Endpoint = runtime.Endpoint(s.dataDir)
	}
	return s.instance.write(s.dataDir)
}

// start starts the control plane and the runtime side by side.
func (s *stack) start(ctx context.Context) error {
	g, starting := errgroup.WithContext(ctx)
	if s.instance.Command == "up" {
		g.Go(func() error { return s.startControl(starting) })
	}
	if s.instance.Settings.RuntimeEndpoint == "" {
		g.Go(func() error { return s.startRuntime(starting) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return s.instance.write(s.dataDir)
}

// startControl starts the control plane. The end of ctx breaks off the start, but
// not what has started: that stops after the node, in stop.
func (s *stack) startControl(ctx context.Context) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	keep := context.AfterFunc(ctx, cancel)
	c, err := cluster.Start(life, s.control())
	if err != nil {
		cancel()
		return s.outlast(ctx, err)
	}
	s.stopControl = cancel
	keep()
	s.cluster = c
	s.instance.Kubeconfig = c.AdminKubeconfig()
	if s.instance.Settings.Kubeconfig != "" {
		s.instance.Kubeconfig = s.instance.Settings.Kubeconfig
	}
	return nil
}

func (s *stack) startRuntime(ctx context.Context) error {
	c, err := runtimeConfig(s.dataDir, s.instance.Settings, s.log)
	if err != nil {
		return err
	}
	r, err := runtime.Start(ctx, c)
	if err != nil {
		return err
	}
	s.runtime = r
	s.instance.Degraded = r.Degraded()
	return nil
}

// checkRuntime refuses a runtime that does not answer, or that another node has its
// pods in.
func (s *stack) checkRuntime(ctx context.Context) error {
	others, err := runtime.OthersPods(ctx, s.instance.Settings.RuntimeEndpoint, podLogsDir(s.dataDir))
	if errors.Is(err, runtime.ErrNoAnswer) {
		return exit.With(exit.Machine, fmt.Errorf("%w; start that runtime, or say another --runtime-endpoint: an empty one is Whylet's own containerd", err))
	}
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return exit.With(exit.Machine, fmt.Errorf("the runtime at %s runs pods of another node (%s), and this one would remove them; give it a runtime of its own",
			s.instance.Settings.RuntimeEndpoint, strings.Join(others[:min(3, len(others))], ", ")))
	}
	return nil
}

// runNode runs the node until ctx ends or it or the control plane fails, and
// reports when it is Ready.
func (s *stack) runNode(ctx context.Context) error {
	c, api, err := s.nodeConfig()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := node.Run(ctx, c); err != nil {
			return fmt.Errorf("node: %w", err)
		}
		if ctx.Err() == nil {
			return errors.New("node: it ended without being told to")
		}
		return nil
	})
	if s.cluster != nil {
		g.Go(func() error { return s.watchControl(ctx) })
		g.Go(func() error { s.answerQuestions(ctx); return nil })
	}
	for _, credential := range s.credentials {
		client, err := kubernetes.NewForConfig(c.API)
		if err != nil {
			return fmt.Errorf("client for the node's certificates: %w", err)
		}
		g.Go(func() error { return credential.Run(ctx, client) })
	}
	g.Go(func() error {
		s.report.step("waiting for the node to be Ready")
		select {
		case <-s.reported:
		case <-ctx.Done():
			return nil
		}
		err := waitNodeReady(ctx, api, c.Name, s.report.step)
		if err == nil && s.cluster != nil {
			s.report.step("waiting for the API server to be let in by the node")
			err = s.cluster.WaitNodeAPI(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now().Truncate(time.Millisecond)
		s.instance.ReadyAt = &now
		if err := s.instance.write(s.dataDir); err != nil {
			return err
		}
		s.log.Info("node is Ready")
		s.report.ready(s.instance.withNotes(s.dataDir))
		return nil
	})
	return g.Wait()
}

// nodeConfig is the node's configuration and the way to the API by which its
// readiness is watched.
func (s *stack) nodeConfig() (node.Config, *rest.Config, error) {
	set := s.instance.Settings
	c := node.Config{
		SystemReserved: s.limits.system, KubeReserved: s.limits.kube,
		Eviction: s.limits.eviction, EvictionSoftGraceSeconds: set.EvictionMaxPodGrace, PressureTransition: s.limits.transition,
		Shutdown: s.limits.shutdown, Beat: s.watchdog.beat, BeatEvery: s.watchdog.every,
		PIDs:            set.NodePIDs,
		PodPIDs:         set.PodMaxPIDs,
		NoProbeAgain:    set.NoProbeAgain,
		AuditEvents:     s.told,
		NoLogLines:      set.NoLogLines,
		OTLPEndpoint:    set.OTLPEndpoint,
		OTLPWithValues:  set.OTLPWithValues,
		Name:            set.NodeName,
		IP:              s.instance.NodeIP,
		DataDir:         filepath.Join(s.dataDir, "node"),
		PodLogsDir:      podLogsDir(s.dataDir),
		RuntimeEndpoint: s.instance.Endpoint,
		CgroupRoot:      cgroupRoot(s.dataDir),
		Memory:          s.limits.memory,
		MaxPods:         maxPods,
		StaticPodDir:    filepath.Join(s.dataDir, "manifests"),
		ListenAddress:   s.instance.NodeIP,
		Port:            set.nodeAPIPort(),
		Version:         version,
		Reported:        sync.OnceFunc(func() { close(s.reported) }),
		Log:             s.log,
		Progress:        s.report.step,
	}
	var err error
	if c.OTLPHeaders, err = set.otlpHeaders(); err != nil {
		return c, nil, err
	}
	if set.RuntimeEndpoint == "" {
		c.SandboxSeccomp = runtime.PauseSeccomp(s.dataDir)
	}
	if s.runtimeAway {
		c.Answered = s.checkRuntime
	}
	for _, dir := range []string{c.DataDir, c.PodLogsDir, c.StaticPodDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return c, nil, fmt.Errorf("making %s: %w", dir, err)
		}
	}
	if s.cluster == nil {
		err := s.joinExisting(&c)
		c.Answer = s.tellFront(c.API)
		return c, c.API, err
	}
	c.API = s.cluster.NodeREST()
	c.Answer = s.tellFront(c.API)
	c.ServingCert, c.ServingKey, c.ClientCA = s.cluster.NodeTLS()
	c.ClusterDNS, c.ClusterDomain = s.cluster.ClusterDNS(), s.cluster.ClusterDomain()
	return c, s.cluster.AdminREST(), nil
}

// podLogsDir is where container logs go. Purge knows a node's pods by it in a
// runtime that is not its own.
func podLogsDir(dataDir string) string { return filepath.Join(dataDir, "pod-logs") }

// maxPods is more than kubelet's 110: on one machine there is no second node to
// take the rest.
const maxPods = 250

// stop ends what was started, the control plane last. Containers keep running.
func (s *stack) stop() error {
	s.report.step("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	began := time.Now()
	if s.runtime != nil {
		errs = append(errs, s.runtime.Stop(ctx))
	}
	runtimeStopped := time.Now()
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop(ctx))
		s.stopControl()
	}
	s.report.step("")
	s.log.Info("stopped", "runtime", runtimeStopped.Sub(began), "control plane", time.Since(runtimeStopped), "errors", errors.Join(errs...))
	return errors.Join(errs...)
}

// openLog is the node's log, logs/whylet.log below the data directory, at most
// three files of ten megabytes.
func openLog(dataDir string) io.WriteCloser {
	return &lumberjack.Logger{Filename: filepath.Join(dataDir, "logs", "whylet.log"), MaxSize: 10, MaxBackups: 2}
}

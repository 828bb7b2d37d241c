// Package static runs the pods of a directory.
//
//	static.go  Pods: from files to facts, and to mirror pods in the API server
package static

import (
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeletpod "k8s.io/kubernetes/pkg/kubelet/pod"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense"
)

// Pods runs the pods of a directory, and shows each to the API server as
// a mirror pod. Reading, defaulting and validating the files is kubelet's own
// file source.
type Pods struct {
	dir    string
	node   string
	mirror kubeletpod.MirrorClient
	submit func(fact.Fact)
	events record.EventRecorderLogger
	log    *slog.Logger

	// wake says that mirrors and static pods may not match.
	wake chan struct{}

	mu      sync.Mutex
	read    bool               // the directory was read once
	files   map[string]*v1.Pod // by namespace/name: what the directory has
	running map[string]*v1.Pod // until its last fact
	held    bool               // none is started
	mirrors map[string]*v1.Pod // what the API server has under that name
}

// New makes the pods of a directory; until Run runs there are none.
func New(dir, node string, mirror kubeletpod.MirrorClient, events record.EventRecorderLogger, log *slog.Logger) *Pods {
	return &Pods{
		dir: dir, node: node, mirror: mirror, events: events, log: log,
		wake:  make(chan struct{}, 1),
		files: map[string]*v1.Pod{}, running: map[string]*v1.Pod{}, mirrors: map[string]*v1.Pod{},
	}
}

// fileCheck is how often the directory is read again beside being watched, and
// how often the mirrors are compared beside being watched.
const fileCheck = 20 * time.Second

// Run implements sense.Source: what it changes are the mirrors only.
func (s *Pods) Run(ctx context.Context, _ pods.Registry, emit func(fact.Fact)) error {
	s.mu.Lock()
	s.submit = emit
	s.mu.Unlock()
	ctx = klog.NewContext(ctx, klog.Background())
	source := config.NewPodConfig(s.events, noLatency{})
	config.NewSourceFile(klog.FromContext(ctx), s.dir, types.NodeName(s.node), fileCheck, source.Channel(ctx, kubelettypes.FileSource))
	check := time.NewTicker(fileCheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case update := <-source.Updates():
			s.take(update)
		case <-s.wake:
		case <-check.C:
		}
		s.mirrorAll(ctx)
	}
}

// record submits a fact to the node, once it runs.
func (s *Pods) record(f fact.Fact) {
	s.mu.Lock()
	submit := s.submit
	s.mu.Unlock()
	if submit != nil {
		submit(f)
	}
}

func (s *Pods) take(update kubelettypes.PodUpdate) {
	// The first update comes even when there is no file.
	s.mu.Lock()
	s.read = true
	s.mu.Unlock()
	for _, pod := range update.Pods {
		switch update.Op {
		case kubelettypes.ADD, kubelettypes.UPDATE:
			s.add(pod)
		case kubelettypes.REMOVE, kubelettypes.DELETE:
			s.remove(pod)
		}
	}
}

// add starts a static pod, once no other of its name is left: a changed file is
// another pod of the same name.
func (s *Pods) add(pod *v1.Pod) {
	name := nameOf(pod)
	s.mu.Lock()
	s.files[name] = pod
	old := s.running[name]
	if old == nil && s.held || old != nil && old.UID != pod.UID {
		s.mu.Unlock()
		return
	}
	s.running[name] = pod
	s.mu.Unlock()
	s.record(sense.PodFact(pod, fact.SpecSeen{Object: sense.Trimmed(pod), By: s.dir, Source: fact.FromFile}))
}

func (s *Pods) remove(pod *v1.Pod) {
	name := nameOf(pod)
	s.mu.Lock()
	if file := s.files[name]; file != nil && file.UID == pod.UID {
		delete(s.files, name)
	}
	running := s.running[name]
	s.mu.Unlock()
	if running != nil && running.UID != pod.UID {
		return // it waited for that one
	}
	s.record(sense.PodFact(pod, fact.DeletionSeen{GraceSeconds: sense.GraceOf(pod), Gone: true, By: s.dir}))
}

// Gone hears that nothing of a static pod is left, and starts what the directory has
// under its name.
func (s *Pods) Gone(pod fact.Pod) {
	name := pod.String()
	s.mu.Lock()
	old := s.running[name]
	if old == nil || old.UID != pod.UID {
		s.mu.Unlock()
		return
	}
	delete(s.running, name)
	file := s.files[name]
	s.mu.Unlock()
	s.look()
	if file != nil {
		s.add(file)
	}
}

// End ends a static pod because its machine is about to shut down. It starts again from its
// file: with the machine, or when [Pods.Hold] ends.
func (s *Pods) End(pod *v1.Pod, graceSeconds int64) {
	s.record(sense.PodFact(pod, fact.DeletionSeen{GraceSeconds: graceSeconds, Gone: true, Reason: fact.ShutdownReason}))
}

// Hold keeps static pods from being started, or starts those that were kept.
func (s *Pods) Hold(held bool) {
	s.mu.Lock()
	s.held = held
	var kept []*v1.Pod
	for name, pod := range s.files {
		if s.running[name] == nil && !held {
			kept = append(kept, pod)
		}
	}
	s.mu.Unlock()
	for _, pod := range kept {
		s.add(pod)
	}
}

// look has the mirrors compared soon.
func (s *Pods) look() {
	select {
	case s.wake <- struct{}{}:
	default: // It is due already.
	}
}

// mirrorAll makes the mirrors that are missing and deletes those that mirror
// nothing, another content of their file, or that somebody asked to delete. Until
// the directory was read nothing is known of any of them.
func (s *Pods) mirrorAll(ctx context.Context) {
	s.mu.Lock()
	var missing, stale []*v1.Pod
	for name, pod := range s.running {
		if s.mirrors[name] == nil {
			missing = append(missing, pod)
		}
	}
	for name, mirror := range s.mirrors {
		pod := s.running[name]
		if s.read && (pod == nil || mirror.DeletionTimestamp != nil || !kubeletpod.IsMirrorPodOf(mirror, pod)) {
			stale = append(stale, mirror)
		}
	}
	s.mu.Unlock()
	for _, pod := range stale {
		if _, err := s.mirror.DeleteMirrorPod(ctx, kubecontainer.GetPodFullName(pod), &pod.UID); err != nil {
			s.log.Warn("mirror pod not deleted, will be tried again", "pod", nameOf(pod), "error", err)
		}
	}
	for _, pod := range missing {
		if err := s.mirror.CreateMirrorPod(ctx, pod); err != nil {
			s.log.Warn("mirror pod not created, will be tried again", "pod", nameOf(pod), "error", err)
		}
	}
}

// Mirrored hears of a mirror pod in the API server; gone is set when it vanished.
// It says which static pod stands behind it.
func (s *Pods) Mirrored(mirror *v1.Pod, gone bool) (fact.Pod, bool) {
	defer s.look()
	name := nameOf(mirror)
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone {
		delete(s.mirrors, name)
		return fact.Pod{}, false
	}
	s.mirrors[name] = mirror
	pod := s.running[name]
	if pod == nil || !kubeletpod.IsMirrorPodOf(mirror, pod) {
		return fact.Pod{}, false
	}
	return pods.KeyOf(pod), true
}

// UID is the UID under which the API server knows a pod: a static pod's mirror
// has one of its own. Not ok means that it does not know the pod (yet).
func (s *Pods) UID(pod fact.Pod) (types.UID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.running[pod.String()]
	if running == nil || running.UID != pod.UID {
		return pod.UID, true
	}
	mirror := s.mirrors[pod.String()]
	if mirror == nil || !kubeletpod.IsMirrorPodOf(mirror, running) {
		return "", false
	}
	return mirror.UID, true
}

func nameOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// noLatency is the start-up latency observer that kubelet's source wants.
type noLatency struct{}

func (noLatency) ObservedPodOnWatch(klog.Logger, *v1.Pod, time.Time) {}

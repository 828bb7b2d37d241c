package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/kubelet/util/format"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/report"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// setUp makes a pod's volumes, cgroup and sandbox.
func (e *Effects) setUp(ctx context.Context, p pods.Pod, d fact.Fact, want fact.SetUp) {
	began := time.Now()
	if p.Sandbox.ID != "" && p.Sandbox.Attempt != want.Attempt {
		e.dropSandbox(ctx, p.Sandbox.ID)
	}
	if err := needsDevices(p.Object); err != nil {
		e.setUpFailed(d, err)
		return
	}
	if err := e.Volumes.SetUp(ctx, p.Object); err != nil {
		e.setUpFailed(d, err)
		return
	}
	box, err := e.runSandbox(ctx, p.Object, want.Attempt)
	if err != nil {
		e.setUpFailed(d, err)
		return
	}
	ips := box.IPs
	if p.Object.Spec.HostNetwork {
		ips = []string{e.IP}
	}
	e.sayAt(d, time.Time{}, fact.SetUpDone{
		SandboxID: box.ID, IPs: ips, HostIPs: []string{e.IP}, Attempt: want.Attempt, Took: time.Since(began),
	})
}

// needsDevices refuses a pod whose devices only a DRA driver could prepare, with
// kubelet's event: it would run without them.
func needsDevices(pod *v1.Pod) error {
	if len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return nil
	}
	return &stageError{
		"devices", events.FailedPrepareDynamicResources, "Failed to prepare dynamic resources: ",
		errors.New("this node takes no drivers for dynamic resource allocation"),
	}
}

// Readopt makes the volumes and the cgroup of a pod that an earlier agent set up
// known to this one. Nothing of the pod changes. First is what the runtime has: a
// sandbox in it of which no fact tells was made by an agent that died before it could
// say so, and the next set-up takes it.
func (e *Effects) Readopt(p pods.Pod, first cri.Snapshot) {
	e.mu.Lock()
	for _, b := range first.Sandboxes {
		if b.Pod.UID == p.Key.UID && b.ID != p.Sandbox.ID {
			e.left[p.Key.UID] = append(e.left[p.Key.UID], b)
		}
	}
	e.mu.Unlock()
	if p.Sandbox.ID == "" || p.Object == nil {
		return
	}
	e.lanes.Do(lane{uid: p.Key.UID}, func(ctx context.Context) {
		if err := e.Volumes.SetUp(ctx, p.Object); err != nil {
			e.Log.Warn("volumes of a running pod not taken over; its next start tries again", "pod", p.Key.String(), "error", err)
			e.mu.Lock()
			e.untaken[p.Key.UID] = true
			e.mu.Unlock()
		}
		if _, err := e.Cgroups.Ensure(p.Object); err != nil {
			e.Log.Warn("cgroup of a running pod not taken over", "pod", p.Key.String(), "error", err)
		}
	})
}

// setUpFailed says which stage failed, each volume in a fact of its own.
func (e *Effects) setUpFailed(d fact.Fact, err error) {
	if e.ctx.Err() != nil {
		return // the agent ends; the next one sets up again
	}
	var failed *stageError
	if errors.As(err, &failed) {
		e.say(d, fact.SetUpFailed{Stage: failed.stage, Reason: failed.reason, Message: failed.Error()})
		return
	}
	var volume *volumes.Error
	if errors.As(err, &volume) {
		e.say(d, fact.SetUpFailed{Stage: volumes.Stage, Reason: volume.Reason, Message: err.Error()})
		return
	}
	e.say(d, fact.SetUpFailed{Stage: volumes.Stage, Reason: "FailedMount", Message: err.Error()})
}

// stageError is a failure of a stage of the set-up, with the reason that kubelet
// gives its event.
type stageError struct {
	stage, reason, words string
	err                  error
}

func (e *stageError) Error() string { return e.words + cri.Words(e.err) }
func (e *stageError) Unwrap() error { return e.err }

// found gives the sandbox that an agent made and died before it could say so. Any
// other left-over of the pod is taken away.
func (e *Effects) found(ctx context.Context, pod *v1.Pod, attempt uint32) (cri.SandboxView, bool) {
	e.mu.Lock()
	left := e.left[pod.UID]
	delete(e.left, pod.UID)
	e.mu.Unlock()
	var found cri.SandboxView
	for _, b := range left {
		if b.Ready && b.Attempt == attempt {
			found = b
		} else {
			e.dropSandbox(ctx, b.ID)
		}
	}
	return found, found.ID != ""
}

func (e *Effects) runSandbox(ctx context.Context, pod *v1.Pod, attempt uint32) (cri.SandboxView, error) {
	parent, err := e.Cgroups.Ensure(pod)
	if err != nil {
		return cri.SandboxView{}, &stageError{"cgroup", "FailedCreatePodContainer", "unable to ensure pod container exists: ", err}
	}
	if box, ok := e.found(ctx, pod, attempt); ok {
		return box, nil
	}
	handler, err := e.handlers.of(ctx, pod)
	if err != nil {
		return cri.SandboxView{}, &stageError{"config", "FailedCreatePodSandBox", fmt.Sprintf("Failed to create sandbox for pod %q: ", format.Pod(pod)), err}
	}
	config, err := e.sandboxConfig(pod, attempt, parent, handler)
	if err != nil {
		return cri.SandboxView{}, &stageError{"config", "FailedCreatePodSandBox", "Failed to create pod sandbox: ", err}
	}
	defer e.Cgroups.Expect()()
	box, err := e.Runtime.RunSandbox(ctx, config, handler)
	if err != nil {
		return cri.SandboxView{}, &stageError{"sandbox", "FailedCreatePodSandBox", "Failed to create pod sandbox: ", err}
	}
	return box, nil
}

func (e *Effects) sandboxConfig(pod *v1.Pod, attempt uint32, parent, handler string) (*runtimeapi.PodSandboxConfig, error) {
	resolv, warnings, err := e.DNS.For(pod)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		e.Recorder.Event(report.Reference(pod, ""), v1.EventTypeWarning, w.Reason, w.Message)
	}
	own, err := e.users.For(pod, handler)
	if err != nil {
		return nil, err
	}
	return cri.SandboxConfig(cri.SandboxInput{
		Users: own, Pod: pod, Attempt: attempt, PodLogsDir: e.PodLogsDir, CgroupParent: parent,
		ClusterDomain: e.ClusterDomain, DNS: resolv, ExtraGroups: e.Volumes.ExtraGroups(pod),
		Seccomp: e.SandboxSeccomp, Machine: e.Machine,
	})
}

// dropSandbox takes away a sandbox that is replaced or no longer wanted.
func (e *Effects) dropSandbox(ctx context.Context, id string) {
	retry(ctx, func() error {
		if err := e.Runtime.StopSandbox(ctx, id); err != nil && !containers.IsNotFound(err) {
			return err
		}
		if err := e.Runtime.RemoveSandbox(ctx, id); err != nil && !containers.IsNotFound(err) {
			return err
		}
		return nil
	}, func(err error) {
		e.Log.Warn("sandbox not removed, will be tried again", "sandbox", id, "error", err)
	})
}

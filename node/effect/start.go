package effect

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense"
)

// start brings a container to life: image, configuration, create, start, and
// its postStart hook. Each step is a fact of its own.
func (e *Effects) start(ctx context.Context, p pods.Pod, d fact.Fact) {
	spec, target := cri.FindContainer(p.Object, d.Container)
	if spec == nil {
		e.say(d, fact.StartFailed{Reason: cri.ReasonConfig, Message: "the pod has no container of that name"})
		return
	}
	made := p.Containers[d.Container]
	if made.ID != "" && made.Attempt == d.Attempt { // by an agent that died before it could say more
		e.launch(ctx, p, d, spec, made.ID, made.Running)
		return
	}
	parts, ok := e.pullVolumes(ctx, p, d, spec)
	if !ok {
		return
	}
	image, ok := e.pull(ctx, p, d, spec)
	if !ok {
		return
	}
	id, err := e.create(ctx, p, d, spec, target, image, parts)
	if err != nil {
		e.startFailed(ctx, d, err)
		return
	}
	e.say(d, fact.Created{ContainerID: id, Image: spec.Image})
	e.launch(ctx, p, d, spec, id, false)
}

// launch starts a created container and runs its postStart hook. A hook may run
// twice, as Kubernetes says of hooks, when an agent died while it ran.
func (e *Effects) launch(ctx context.Context, p pods.Pod, d fact.Fact, spec *v1.Container, id string, running bool) {
	// From here on a kill finds the container and ends it as it ends any other: it ends
	// ctx, and with that the hook.
	if !running {
		if err := e.run(id); err != nil {
			e.didNotRun(d, id, err)
			return
		}
		e.started(p, d, spec, id)
	}
	if spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil {
		e.hook(ctx, p, d, cri.Hook{Kind: fact.PostStart, Container: spec, ContainerID: id})
	}
}

// run starts a created container.
func (e *Effects) run(id string) error {
	defer e.Cgroups.Expect()()
	return e.Runtime.Start(e.ctx, id)
}

// pull makes sure that the image is there, by one attempt.
func (e *Effects) pull(ctx context.Context, p pods.Pod, d fact.Fact, spec *v1.Container) (images.Image, bool) {
	image, err := e.Images.Ensure(ctx, p.Object, spec, func(b fact.Observed) { e.say(d, b) })
	if err != nil {
		e.pullFailed(ctx, d, spec.Image, err)
	}
	return image, err == nil
}

// pullVolumes does the same for the images that the container mounts as volumes.
func (e *Effects) pullVolumes(ctx context.Context, p pods.Pod, d fact.Fact, spec *v1.Container) (map[string]*runtimeapi.ImageSpec, bool) {
	specs := map[string]*runtimeapi.ImageSpec{}
	for i := range p.Object.Spec.Volumes {
		v := &p.Object.Spec.Volumes[i]
		if v.Image == nil || !slices.ContainsFunc(spec.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == v.Name }) {
			continue
		}
		image, err := e.Images.EnsureVolume(ctx, p.Object, v.Image, func(b fact.Observed) { e.say(d, b) })
		if err != nil {
			e.pullFailed(ctx, d, v.Image.Reference, err)
			return nil, false
		}
		specs[v.Name] = &runtimeapi.ImageSpec{Image: image.Ref, UserSpecifiedImage: v.Image.Reference, Annotations: p.Object.Annotations}
	}
	return specs, true
}

func (e *Effects) pullFailed(ctx context.Context, d fact.Fact, image string, err error) {
	var failed *images.Failure
	switch {
	case ctx.Err() != nil:
		e.calledOff(d)
	case errors.As(err, &failed):
		e.say(d, failed.Fact())
	default:
		e.say(d, fact.ImageFailed{Image: image, Reason: images.ReasonPull, Message: err.Error()})
	}
}

// create configures and creates the container.
func (e *Effects) create(ctx context.Context, p pods.Pod, d fact.Fact, spec *v1.Container, target string, image images.Image, parts map[string]*runtimeapi.ImageSpec) (string, error) {
	handler, err := e.handlers.of(ctx, p.Object)
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	own, err := e.users.For(p.Object, handler)
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	env, err := cri.Environment(e.envInput(ctx, p, spec))
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	mounts, done, err := e.mounts(ctx, p, d, spec, volumes.MountOptions{Env: env, Images: parts})
	defer done()
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	config, err := cri.ContainerConfig(cri.ContainerInput{
		Users: own, Mounts: mounts, Pod: p.Object, Container: spec, Attempt: d.Attempt, ImageRef: image.Ref, ImageUser: image.User, Env: env,
		TargetID: p.Containers[target].ID, ExtraGroups: e.Volumes.ExtraGroups(p.Object), Machine: e.Machine,
		SeccompRoot: filepath.Join(e.DataDir, "seccomp"),
	})
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	parent, err := e.Cgroups.Ensure(p.Object)
	if err != nil {
		return "", err
	}
	sandbox, err := e.sandboxConfig(p.Object, p.Sandbox.Attempt, parent, handler)
	if err != nil {
		return "", cri.ConfigFailure(err)
	}
	return e.Runtime.Create(ctx, p.Sandbox.ID, config, sandbox)
}

func (e *Effects) envInput(ctx context.Context, p pods.Pod, spec *v1.Container) cri.EnvInput {
	node := e.Node()
	var allocatable v1.ResourceList
	if node != nil {
		allocatable = node.Status.Allocatable
	}
	return cri.EnvInput{
		Pod: p.Object, Container: spec, PodIPs: p.Sandbox.IPs, HostIPs: p.Sandbox.HostIPs, Allocatable: allocatable,
		ConfigMaps: e.Volumes, Secrets: e.Volumes, Services: func() ([]*v1.Service, error) { return e.Services(ctx) },
		VolumePath: func(volume string) (string, error) { return e.Volumes.Path(p.Key.UID, volume) },
	}
}

// mounts fills in what of the options is the node's to know.
func (e *Effects) mounts(ctx context.Context, p pods.Pod, d fact.Fact, spec *v1.Container, o volumes.MountOptions) ([]*runtimeapi.Mount, func(), error) {
	e.mu.Lock()
	untaken := e.untaken[p.Key.UID]
	delete(e.untaken, p.Key.UID)
	e.mu.Unlock()
	if untaken || isEphemeral(p.Object, spec.Name) {
		if err := e.Volumes.SetUp(e.ctx, p.Object); err != nil {
			e.mu.Lock()
			e.untaken[p.Key.UID] = true
			e.mu.Unlock()
			return nil, func() {}, err
		}
	}
	host, domain, err := cri.Hostname(p.Object, e.ClusterDomain)
	if err != nil {
		return nil, func() {}, err
	}
	if o.RecursiveReadOnly, err = e.handlers.recursiveReadOnly(ctx, p.Object, spec); err != nil {
		return nil, func() {}, err
	}
	o.PodIPs, o.HostName, o.HostDomain, o.Attempt = p.Sandbox.IPs, host, domain, d.Attempt
	return e.Volumes.Mounts(p.Object, spec, o)
}

func isEphemeral(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return true
		}
	}
	return false
}

// startFailed says why a container could not be created.
func (e *Effects) startFailed(ctx context.Context, d fact.Fact, err error) {
	if ctx.Err() != nil {
		e.calledOff(d)
		return
	}
	var failed *cri.Failure
	if errors.As(err, &failed) {
		e.say(d, fact.StartFailed{Reason: failed.Reason, Message: failed.Message()})
		return
	}
	e.say(d, fact.StartFailed{Reason: cri.ReasonCreate, Message: cri.Words(err)})
}

// calledOff answers a start that was ended before it had created a container.
// When the whole agent ends it says nothing: the next one starts it again.
func (e *Effects) calledOff(d fact.Fact) {
	if e.ctx.Err() == nil {
		e.say(d, fact.StartFailed{Reason: cri.ReasonCalledOff, Message: "the start was called off before there was a container"})
	}
}

// didNotRun says why a created container did not start. The runtime leaves it
// behind as ended, with an exit code of its own choice.
func (e *Effects) didNotRun(d fact.Fact, id string, err error) {
	if e.ctx.Err() != nil {
		return // it may run: the next agent sees
	}
	failed := fact.StartFailed{Reason: cri.ReasonStart, Message: cri.Words(err), ContainerID: id}
	if v, statusErr := e.Runtime.Status(e.ctx, id); statusErr == nil && v.State == cri.Exited {
		failed.Exited, failed.ExitCode = true, v.ExitCode
	}
	e.say(d, failed)
}

// started tells the start with what the runtime knows of it. When the look fails
// the start is still a fact, just with less in it.
func (e *Effects) started(p pods.Pod, d fact.Fact, spec *v1.Container, id string) {
	v, pid, err := e.Runtime.Inspect(e.ctx, id)
	if err != nil {
		e.say(d, fact.Started{ContainerID: id})
		return
	}
	body := sense.StartedBody(v, pid)
	recursive, err := e.handlers.recursiveReadOnly(e.ctx, p.Object, spec)
	if err != nil {
		e.Log.Warn("whether mounts are recursively read-only is not known", "pod", p.Key.String(), "container", spec.Name, "error", err)
	}
	body.VolumeMounts = cri.VolumeMounts(spec, recursive)
	e.sayAt(d, v.StartedAt, body)
}

// hook runs a hook of a container to its end, or to that of ctx, and says how it went
// and how long it took; a hook that the agent's own end cuts short says nothing of the
// pod.
func (e *Effects) hook(ctx context.Context, p pods.Pod, d fact.Fact, h cri.Hook) time.Duration {
	h.Pod, h.PodIPs = p.Object, p.Sandbox.IPs
	ran := e.Runtime.RunHook(ctx, h)
	if e.ctx.Err() == nil {
		e.say(d, ran)
	}
	return ran.Took
}

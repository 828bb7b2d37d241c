package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util"
)

// errGone is given to whoever comes while or after the pod's volumes are taken
// down.
var errGone = errors.New("the pod's volumes were torn down")

// SetUp makes one attempt to get all volumes of the pod ready that its containers
// use. It is idempotent: what is mounted stays, contents are brought up to date.
// Calling it again is also how a pod is taken over after a restart of the agent.
//
// The error, if there is one, is a [Failures]; the volumes that did not fail are
// ready. Waiting between attempts is the caller's; see Config.Changed.
//
// Taking over does not need the API server: what a claim is bound to was written
// down, and contents that cannot be refreshed stay as they are. Those volumes are
// ready then, and refreshed later, although there is an error.
func (m *Manager) SetUp(ctx context.Context, pod *v1.Pod) error {
	p := m.of(pod.UID)
	p.work.Lock()
	defer p.work.Unlock()
	if !m.register(p, pod) {
		return errGone
	}
	for _, name := range []string{volumesName, pluginsName} {
		if err := os.MkdirAll(filepath.Join(m.podDir(pod.UID), name), 0o750); err != nil {
			return Failures{{Reason: "FailedToMakePodDataDirectories", Message: fmt.Sprintf("error making pod data directories: %v", err), Err: err}}
		}
	}
	err := m.mountAll(ctx, p, pod)
	if p.ready = len(p.missing(usedVolumes(pod))) == 0; p.ready {
		m.schedule(pod, err)
	}
	return err
}

// register makes pod the newest known state of the pod, and watches what it
// refers to. It is false for a pod that was torn down.
func (m *Manager) register(p *podVolumes, pod *v1.Pod) bool {
	if !m.note(p, pod) {
		return false
	}
	m.certificates.track(pod) // which asks for what was noted
	return true
}

func (m *Manager) note(p *podVolumes, pod *v1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false
	}
	p.pod = pod
	m.configs.Register(pod)
	return true
}

// unregister is the end of that.
func (m *Manager) unregister(p *podVolumes, uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	m.configs.Unregister(uid)
	m.certificates.forget(p.pod)
}

// mountAll mounts what is not mounted, and writes what may have changed, all
// volumes at the same time. p.work is held.
func (m *Manager) mountAll(ctx context.Context, p *podVolumes, pod *v1.Pod) error {
	used := usedVolumes(pod)
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		failed  []*Error
		unknown []unprocessed
	)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !used.Has(v.Name) {
			continue
		}
		group.Go(func() {
			err := m.mountOne(ctx, p, pod, v)
			mu.Lock()
			defer mu.Unlock()
			var notMounted *Error
			switch {
			case err == nil:
			case errors.As(err, &notMounted):
				failed = append(failed, notMounted)
			default:
				unknown = append(unknown, unprocessed{v.Name, err})
			}
		})
	}
	group.Wait()
	return failures(failed, unknown, p.missing(used))
}

// usedVolumes names the volumes that any container mounts; the others are left
// alone, as by kubelet.
func usedVolumes(pod *v1.Pod) sets.Set[string] {
	mounts, devices, _ := util.GetPodVolumeNames(pod, false)
	return mounts.Union(devices)
}

// missing names the volumes out of used that are not mounted.
func (p *podVolumes) missing(used sets.Set[string]) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := []string{}
	for name := range used {
		if _, ok := p.mounted[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

// mountOne mounts a volume, or writes its contents again. An error that is not
// an *Error says that the volume meant could not be found out.
func (m *Manager) mountOne(ctx context.Context, p *podVolumes, pod *v1.Pod, v *v1.Volume) error {
	_, again := p.volume(v.Name)
	if again && claimOf(pod, v) != nil {
		return nil // mounted, and nothing behind a claim has contents to refresh
	}
	src, err := m.resolve(ctx, pod, v)
	if err != nil {
		return err
	}
	plugin, err := m.plugins.FindPluginBySpec(src.spec)
	if err != nil {
		return fmt.Errorf("failed to get Plugin from volumeSpec for volume %q err=%w", src.spec.Name(), err)
	}
	if again && !plugin.RequiresRemount(src.spec) {
		return nil
	}
	mounter, err := m.mountWith(plugin, pod, v.Name, src, again)
	if err != nil && !again {
		mounter = leftover(plugin, pod, src.spec)
	}
	if mounter == nil {
		return err
	}
	if src.spec.PersistentVolume != nil && !src.recalled {
		m.record(p, pod.UID, v.Name, src.spec.PersistentVolume)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mounted[v.Name] = mounted{mounter: mounter, specName: src.spec.Name(), gid: src.gid}
	return err
}

// leftover gives a volume with contents that an earlier agent wrote and that
// cannot be written now, for want of the API server or of the object: a
// container that starts again finds what the others in the pod have. It is nil
// when there are no such contents.
func leftover(plugin volume.VolumePlugin, pod *v1.Pod, spec *volume.Spec) volume.Mounter {
	if !plugin.RequiresRemount(spec) {
		return nil
	}
	mounter, err := plugin.NewMounter(spec, pod)
	if err != nil {
		return nil
	}
	// The atomic writer's link to the newest contents, its last act.
	if _, err := os.Stat(filepath.Join(mounter.GetPath(), "..data")); err != nil {
		return nil
	}
	return mounter
}

// mountWith goes through the steps of kubelet's GenerateMountVolumeFunc, which
// also gives the errors their words.
func (m *Manager) mountWith(plugin volume.VolumePlugin, pod *v1.Pod, name string, src source, again bool) (volume.Mounter, error) {
	spec := src.spec
	fail := func(step string, err error) (volume.Mounter, error) {
		return nil, mountError(name, spec.Name(), step, err)
	}
	if err := m.nodeHas(src); err != nil {
		return fail("MountVolume.NodeAffinity check failed", err)
	}
	mounter, err := plugin.NewMounter(spec, pod)
	if err != nil {
		return fail("MountVolume.NewMounter initialization failed", err)
	}
	if len(util.MountOptionFromSpec(spec)) > 0 && !plugin.SupportsMountOption() {
		return fail("MountVolume.MountOptionSupport check failed", errors.New("mount options are not supported for this volume type"))
	}
	release, err := m.claim(spec, pod.UID)
	if err != nil {
		return fail("MountVolume.SetUp failed", err)
	}
	if err := m.mountDevice(plugin, spec); err != nil {
		release()
		return fail("MountVolume.MountDevice failed", err)
	}
	args := volume.MounterArgs{FsUser: util.FsUserFrom(pod), Recorder: recorder{m.cfg.Event}, IsRemount: again}
	if sc := pod.Spec.SecurityContext; sc != nil {
		args.FsGroup, args.FSGroupChangePolicy = sc.FSGroup, sc.FSGroupChangePolicy
	}
	if err := mounter.SetUp(args); err != nil {
		release()
		return fail("MountVolume.SetUp failed", err)
	}
	return mounter, nil
}

// nodeHas tells whether a persistent volume is meant to be used on this node. One
// that the pod uses already is.
func (m *Manager) nodeHas(src source) error {
	if src.spec.PersistentVolume == nil || src.recalled {
		return nil
	}
	labels, err := host{m}.GetNodeLabels()
	if err != nil {
		return err
	}
	return storagehelpers.CheckNodeAffinity(src.spec.PersistentVolume, labels)
}

// claim notes that the pod uses a persistent volume, and refuses that if the
// volume is for one pod only (ReadWriteOncePod) and another has it. release
// takes the note back.
func (m *Manager) claim(spec *volume.Spec, uid types.UID) (release func(), err error) {
	pv := spec.PersistentVolume
	if pv == nil {
		return func() {}, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	users := m.claimed[pv.Name]
	single := len(pv.Spec.AccessModes) == 1 && v1helper.ContainsAccessMode(pv.Spec.AccessModes, v1.ReadWriteOncePod)
	if single && users.Clone().Delete(uid).Len() > 0 {
		return nil, errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	if users == nil {
		users = sets.New[types.UID]()
		m.claimed[pv.Name] = users
	}
	users.Insert(uid)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.claimed[pv.Name].Delete(uid)
	}, nil
}

// mountDevice mounts what pods share of a volume: of the types here, a local
// volume that is a block device with a file system.
func (m *Manager) mountDevice(plugin volume.VolumePlugin, spec *volume.Spec) error {
	shared, ok := plugin.(volume.DeviceMountableVolumePlugin)
	if !ok {
		return nil
	}
	mounter, err := shared.NewDeviceMounter()
	if err != nil {
		return err
	}
	path, err := mounter.GetDeviceMountPath(spec)
	if err != nil {
		return err
	}
	m.devices.Lock()
	defer m.devices.Unlock()
	return mounter.MountDevice(spec, "", path, volume.DeviceMounterArgs{})
}

// ExtraGroups are the groups that the pod's persistent volumes ask for beside
// those in its security context: supplemental groups of every container.
func (m *Manager) ExtraGroups(pod *v1.Pod) []int64 {
	p, ok := m.lookup(pod.UID)
	if !ok {
		return nil
	}
	extra := sets.New[int64]()
	p.mu.Lock()
	for _, v := range p.mounted {
		if gid, err := strconv.ParseInt(v.gid, 10, 64); err == nil {
			extra.Insert(gid)
		}
	}
	p.mu.Unlock()
	if sc := pod.Spec.SecurityContext; sc != nil {
		extra.Delete(sc.SupplementalGroups...)
	}
	return sets.List(extra)
}

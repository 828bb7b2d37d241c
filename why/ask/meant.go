package ask

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/prose"
)

// reference is what a pod's spec takes from a ConfigMap or a Secret; key is empty where it takes all.
type reference struct{ kind, name, key string }

// references are what a pod cannot do without.
func references(spec *v1.PodSpec) map[reference]bool {
	all := map[reference]bool{}
	add := func(of []mounts.Taken) {
		for _, t := range of {
			if t.Name == "" || t.Optional {
				continue
			}
			all[reference{kind: t.Kind, name: t.Name}] = true
			for _, key := range t.Keys {
				all[reference{t.Kind, t.Name, key}] = true
			}
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		add(mounts.Variables(&c))
	}
	for i := range spec.Volumes {
		add(mounts.Files(&spec.Volumes[i]))
	}
	return all
}

// meant proposes what exists in place of a ConfigMap, a Secret or a key of one that a pod names and that does not,
// with the asker's own rights: what may not be read is not proposed.
func (q *question) meant(ctx context.Context, all []answer.Answer) {
	if q.options.AtDoor {
		return
	}
	left := mostShown
	for i := range all {
		for j := range all[i].Verdicts {
			v := &all[i].Verdicts[j]
			v.DropSteps(func(f answer.Fix) bool { return f.ID == answer.StepExplain && q.noService(ctx, f.Target) })
			space, name := blamed(&all[i], j)
			if n := v.Step(answer.StepGrowClaim); n >= 0 {
				q.grow(ctx, &v.Fixes[n])
			}
			if v.Cause != answer.ConfigMissing && v.Cause != answer.ImageUnauthorized || name == "" || v.Pod == "" && len(v.Hops) > 0 || left == 0 {
				continue
			}
			left--
			pod, err := oneOf[v1.Pod](ctx, q, space, name)
			if err != nil {
				continue
			}
			refs := references(&pod.Spec)
			if v.Cause == answer.ImageUnauthorized {
				refs = q.pullSecrets(ctx, v, pod)
			}
			for _, r := range slices.SortedFunc(maps.Keys(refs), func(a, b reference) int {
				return slices.Compare([]string{a.kind, a.name, a.key}, []string{b.kind, b.name, b.key})
			}) {
				if step, ok := q.instead(ctx, pod, r); ok {
					v.AddFirst(step)
				}
			}
			q.complete(ctx, v, pod, refs)
		}
	}
}

// pullSecrets are the Secrets that a pod's imagePullSecrets name. Of those that do not exist the verdict says so:
// kubelet pulls without them.
func (q *question) pullSecrets(ctx context.Context, v *answer.Verdict, pod *v1.Pod) map[reference]bool {
	all := map[reference]bool{}
	for _, s := range pod.Spec.ImagePullSecrets {
		r := reference{kind: "Secret", name: s.Name}
		all[r] = true
		if _, err := q.keysOf(ctx, pod.Namespace, r); apierrors.IsNotFound(err) {
			v.SayBecause(fmt.Sprintf("Secret %s, which its imagePullSecrets name, does not exist in namespace %s.", s.Name, pod.Namespace))
			v.AddFirst(answer.Fix{Text: fmt.Sprintf("create Secret %s of type kubernetes.io/dockerconfigjson with credentials of the registry", s.Name), Command: kubectl.Command(pod.Namespace, "create secret docker-registry %s --docker-server=%s --docker-username=\"$USERNAME\" --docker-password=\"$PASSWORD\"", s.Name, registry(pod, v.Container)), Risk: answer.Safe})
		}
	}
	return all
}

// registry is the host from which the image of a container comes.
func registry(pod *v1.Pod, container string) string {
	image := ""
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			image = c.Image
		}
	}
	host, _, found := strings.Cut(image, "/")
	return prose.Whether(found && strings.ContainsAny(host, ".:"), host, "https://index.docker.io/v1/")
}

// grow says in a step about a claim that is full whether its StorageClass lets it ask for more.
func (q *question) grow(ctx context.Context, step *answer.Fix) {
	_, key, _ := strings.Cut(step.Target, "/")
	space, name, _ := strings.Cut(key, "/")
	claim, err := oneOf[v1.PersistentVolumeClaim](ctx, q, space, name)
	if err != nil || claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		return
	}
	class, err := oneOf[storagev1.StorageClass](ctx, q, "", *claim.Spec.StorageClassName)
	if err != nil {
		return
	}
	size := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
		step.Text = fmt.Sprintf("delete what is not needed on claim %s (%s), or copy it to a larger claim: StorageClass %s does not let claims grow", name, size.String(), class.Name)
		step.Command, step.Risk = kubectl.Command(space, "describe pvc %s", name), answer.Inspect
		return
	}
	step.Text = fmt.Sprintf("have claim %s ask for more than its %s (StorageClass %s lets claims grow), or delete what is not needed there", name, size.String(), class.Name)
	size.Add(size)
	step.Command = kubectl.Command(space, `patch pvc %s --type=merge -p '{"spec":{"resources":{"requests":{"storage":"%s"}}}}'`, name, size.String())
}

// noService reports whether a step is about a Service, as KIND/NAMESPACE/NAME, that does not exist.
func (q *question) noService(ctx context.Context, target string) bool {
	kind, rest, _ := strings.Cut(target, "/")
	space, name, ok := strings.Cut(rest, "/")
	if kind, _ = Kind(kind); kind != "service" || !ok || space == "" || name == "" {
		return false
	}
	_, err := oneOf[v1.Service](ctx, q, space, name)
	return apierrors.IsNotFound(err)
}

// instead is the step that names what exists in place of a reference to what does not; ok is false where the
// reference is good, or nothing is like it.
func (q *question) instead(ctx context.Context, pod *v1.Pod, r reference) (answer.Fix, bool) {
	keys, err := q.keysOf(ctx, pod.Namespace, r)
	switch {
	case apierrors.IsNotFound(err) && r.key == "":
		if near := prose.Nearest(r.name, q.names(ctx, strings.ToLower(r.kind), pod.Namespace, "")); near != "" {
			return kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("use %s %s, which exists, instead of %s, if that is meant", r.kind, near, r.name)), true
		}
		if q.options.Within {
			return answer.Fix{}, false
		}
		if spaces := q.names(ctx, strings.ToLower(r.kind), "", r.name); len(spaces) > 0 {
			return answer.Fix{Text: fmt.Sprintf("create %s %s in namespace %s, as in namespace %s: a pod reads those of its own namespace only", r.kind, r.name, pod.Namespace, spaces[0]), Risk: answer.Safe}, true
		}
	case err == nil && r.key != "" && !slices.Contains(keys, r.key):
		if near := prose.Nearest(r.key, keys); near != "" {
			return kubectl.EditTemplate(pod.Namespace, pod, fmt.Sprintf("use key %s of %s %s instead of %s, if that is meant", near, r.kind, r.name, r.key)), true
		}
	}
	return answer.Fix{}, false
}

func (q *question) keysOf(ctx context.Context, space string, r reference) ([]string, error) {
	if r.kind == "Secret" {
		o, err := oneOf[v1.Secret](ctx, q, space, r.name)
		if err != nil {
			return nil, err
		}
		return slices.Sorted(maps.Keys(o.Data)), nil
	}
	o, err := oneOf[v1.ConfigMap](ctx, q, space, r.name)
	if err != nil {
		return nil, err
	}
	return slices.Concat(slices.Sorted(maps.Keys(o.Data)), slices.Sorted(maps.Keys(o.BinaryData))), nil
}

// NotThereError says that what was asked about does not exist.
type NotThereError struct {
	Target
	// NoNamespace is set where not even its namespace exists.
	NoNamespace bool
	// Meant are objects that may be meant, likeliest first, as their flags and names are typed.
	Meant []string
}

func (e *NotThereError) Error() string {
	text := fmt.Sprintf("there is no %s %s", e.Kind, strings.TrimPrefix(e.Namespace+"/"+e.Name, "/"))
	if e.NoNamespace {
		text = fmt.Sprintf("there is no namespace %s", e.Namespace)
	}
	switch {
	case len(e.Meant) > 0:
		text += "; did you mean " + strings.Join(e.Meant, ", ") + "?"
	case e.NoNamespace:
		text += "; kubectl get namespaces lists them"
	}
	return text
}

// orMeant returns the error, or where the asker may list and not get, as in a dump that has not all, what
// may be meant.
func (q *question) orMeant(ctx context.Context, t Target, err error) error {
	if apierrors.IsForbidden(err) {
		if e := q.notThere(ctx, t); len(e.Meant) > 0 {
			return e
		}
	}
	return err
}

const mostMeant = 5

// notThere finds what was meant by the name of something that does not exist: a name nearly the
// same, another kind, or another namespace.
func (q *question) notThere(ctx context.Context, t Target) *NotThereError {
	e := &NotThereError{Target: t}
	if t.Kind != "node" {
		e.Namespace = q.space
	}
	if e.NoNamespace = q.noNamespace(ctx, t); e.NoNamespace {
		if near := prose.Nearest(q.space, q.names(ctx, "namespace", "", "")); near != "" {
			e.Meant = []string{"-n " + near}
		}
		return e
	}
	e.Meant = slices.Concat(q.nearly(ctx, t), q.otherKinds(ctx, t), q.otherSpaces(ctx, t))
	e.Meant = e.Meant[:min(len(e.Meant), mostMeant)]
	return e
}

// noNamespace reports whether the namespace does not exist; false where the asker may not know.
func (q *question) noNamespace(ctx context.Context, t Target) bool {
	if q.options.Within || t.Kind == "node" || q.space == "" {
		return false
	}
	_, err := oneOf[v1.Namespace](ctx, q, "", q.space)
	return apierrors.IsNotFound(err)
}

// nearly proposes objects of the kind whose names differ a little.
func (q *question) nearly(ctx context.Context, t Target) (all []string) {
	names := q.names(ctx, t.Kind, q.space, "")
	if near := prose.Nearest(t.Name, names); near != "" {
		all = append(all, t.Kind+"/"+near)
	}
	for _, name := range names {
		if one := t.Kind + "/" + name; len(t.Name) > 2 && strings.HasPrefix(name, t.Name+"-") && len(all) < mostMeant && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// otherKinds proposes what has the same name, or for a workload's pod that is gone the workload.
func (q *question) otherKinds(ctx context.Context, t Target) (all []string) {
	if t.Kind == "node" {
		return nil
	}
	for _, kind := range []string{"deployment", "statefulset", "daemonset", "job", "cronjob", "service", "pod"} {
		if kind == t.Kind {
			continue
		}
		for _, name := range q.names(ctx, kind, q.space, "") {
			if name == t.Name || kind != "pod" && kind != "service" && t.Kind == "pod" && strings.HasPrefix(t.Name, name+"-") {
				all = append(all, kind+"/"+name)
			}
		}
	}
	return all
}

// otherSpaces proposes the object of the same name in other namespaces.
func (q *question) otherSpaces(ctx context.Context, t Target) (all []string) {
	if q.options.Within || t.Kind == "node" {
		return nil
	}
	return prose.Each(q.names(ctx, t.Kind, "", t.Name), func(space string) string { return fmt.Sprintf("-n %s %s/%s", space, t.Kind, t.Name) })
}

// names lists a kind's objects in a namespace by name; with a name, the namespaces that have it.
// What may not be listed has none.
func (q *question) names(ctx context.Context, kind, space, name string) (all []string) {
	o := metav1.ListOptions{Limit: 1000}
	if name != "" {
		o.FieldSelector = "metadata.name=" + name
	}
	k, ok := kindNamed(kind)
	if !ok {
		return nil
	}
	list, err := q.listOnce(ctx, k, space, o)
	if err != nil {
		return nil
	}
	for _, o := range objects(list) {
		if name == "" {
			all = append(all, o.GetName())
		} else if o.GetName() == name {
			all = append(all, o.GetNamespace())
		}
	}
	return all
}

package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/prose"
)

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

// mostMeant is how many names are proposed.
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
	for _, space := range q.names(ctx, t.Kind, "", t.Name) {
		all = append(all, fmt.Sprintf("-n %s %s/%s", space, t.Kind, t.Name))
	}
	return all
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

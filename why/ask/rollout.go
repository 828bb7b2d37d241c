package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/kubectl"
)

// mostSettled is of how many workloads the revisions are read for one question.
const mostSettled = 8

// revision is one template of a workload.
type revision struct {
	number   int64
	hash     string
	template v1.PodTemplateSpec
}

// rollout finds out what came with a revision whose pods fail, and how to go back.
func (q *question) rollout(ctx context.Context, f *common.Finding) []answer.Fix {
	all := q.revisions(ctx, f.Maker)
	find := func(hashes ...string) *revision {
		own := slices.DeleteFunc(slices.Clone(all), func(r revision) bool { return !slices.Contains(hashes, r.hash) })
		if len(own) == 0 {
			return nil
		}
		newest := slices.MaxFunc(own, func(a, b revision) int { return cmp.Compare(a.number, b.number) })
		return &newest
	}
	now, before := find(f.Maker.Revision), find(f.Before...)
	if now == nil || before == nil || now.number < before.number { // one that was gone back from
		return nil
	}
	f.Settle(strconv.FormatInt(now.number, 10), common.Changes(&before.template, &now.template))
	if f.Certainty != answer.Inferred {
		return nil
	}
	return []answer.Fix{{
		Text:    fmt.Sprintf("go back to revision %d, whose pods do well", before.number),
		Command: kubectl.Command(f.Maker.Namespace, "rollout undo %s/%s --to-revision=%d", strings.ToLower(f.Maker.Kind), f.Maker.Name, before.number),
		Risk:    answer.Restarts,
	}}
}

// revisions are those of a workload that the API server has; none where they may not be read.
func (q *question) revisions(ctx context.Context, m common.Maker) []revision {
	switch m.Kind {
	case "Deployment":
		return q.replicaSets(ctx, m)
	case "StatefulSet", "DaemonSet":
		return q.controllerRevisions(ctx, m)
	}
	return nil
}

func (q *question) replicaSets(ctx context.Context, m common.Maker) []revision {
	sets, err := allOf[appsv1.ReplicaSet](ctx, q, m.Namespace)
	if err != nil {
		return nil
	}
	var all []revision
	for r := range pointers(sets) {
		owner := metav1.GetControllerOfNoCopy(r)
		number, err := strconv.ParseInt(r.Annotations["deployment.kubernetes.io/revision"], 10, 64)
		if err == nil && owner != nil && owner.Kind == m.Kind && owner.Name == m.Name {
			all = append(all, revision{number, r.Labels["pod-template-hash"], r.Spec.Template})
		}
	}
	return all
}

// controllerRevisions are those of a StatefulSet or DaemonSet, each a patch that replaces
// the template.
func (q *question) controllerRevisions(ctx context.Context, m common.Maker) []revision {
	sets, err := allOf[appsv1.ControllerRevision](ctx, q, m.Namespace)
	if err != nil {
		return nil
	}
	var all []revision
	for r := range pointers(sets) {
		owner := metav1.GetControllerOfNoCopy(r)
		if owner == nil || owner.Kind != m.Kind || owner.Name != m.Name {
			continue
		}
		var patch struct {
			Spec struct {
				Template v1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if json.Unmarshal(r.Data.Raw, &patch) != nil {
			continue
		}
		hash := r.Name // which a StatefulSet puts on its pods; a DaemonSet the end of it
		if m.Kind == "DaemonSet" {
			hash = strings.TrimPrefix(r.Name, m.Name+"-")
		}
		all = append(all, revision{r.Revision, hash, patch.Spec.Template})
	}
	return all
}

package ask

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/serve"
)

// herald is a front that knows the town's answers, and of pods elsewhere.
type herald struct {
	town  *town
	scene common.Scene
}

func (h *herald) Get(_ context.Context, _, _ string, about serve.Question) ([]byte, error) {
	return json.Marshal(typed(h.town.answers[about.Name]))
}

func (h *herald) Departed(context.Context, serve.Question) ([]answer.Answer, error) { return nil, nil }

func (h *herald) Where(context.Context, serve.Question) (string, bool) { return "", false }

func (h *herald) Nodes(context.Context) ([]string, error) { return []string{"n00", "n01"}, nil }

func (h *herald) Fellows(context.Context, []types.UID) (common.Scene, error) { return h.scene, nil }

func (h *herald) Standing(context.Context, string) ([]answer.Answer, int, []string, error) {
	return nil, 0, nil, nil
}

// of makes the pod that was added last one of a workload at a revision, on a node.
func (w *town) of(workload, revision, node string) {
	p, yes := &w.pods.Items[len(w.pods.Items)-1], true
	p.Labels["pod-template-hash"] = revision
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: workload + "-" + revision, Controller: &yes}}
	p.Spec.NodeName = node
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	a := w.answers[p.Name]
	if a.Verdicts[0].Cause != answer.None {
		p.Status.Conditions[0].Status = v1.ConditionFalse
	}
}

// Without a front the other pods of the workload are looked at.
func TestOnePodBesideItsFellows(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	crash := answer.Verdict{Cause: answer.AppExitError, Text: "It ended with exit code 1."}
	well := answer.Verdict{Cause: answer.None}
	for _, name := range []string{"new1", "new2", "new3"} {
		w.pod(name, 80, answer.Restarted, crash)
		w.of("web", "b", "n")
	}
	for _, name := range []string{"old4", "old5", "old6", "old7", "old8"} {
		w.pod(name, 80, answer.Healthy, well)
		w.of("web", "a", "n")
	}
	w.pod("other9", 80, answer.Restarted, crash)
	w.of("api", "c", "n")
	v := w.ask("new1")
	if len(v.InCommon) != 1 || v.InCommon[0].With != (answer.Tally{Failing: 3, All: 3}) || v.InCommon[0].Without != (answer.Tally{All: 5}) || v.InCommon[0].Certainty != answer.Inferred {
		t.Errorf("%+v", v.InCommon)
	}
	if v := w.ask("other9"); len(v.InCommon) > 0 {
		t.Errorf("%+v", v.InCommon)
	}
	if v := w.ask("old4"); len(v.InCommon) > 0 {
		t.Errorf("%+v", v.InCommon)
	}
}

// With a front pods of other namespaces count for a node and for what they ask for, and a tenant
// is not told even how many they are: who guesses what others depend on would have it confirmed.
func TestTenantsAreToldNothingOfOthers(t *testing.T) {
	w := &town{t: t, answers: map[string]answer.Answer{}}
	w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "Its database is down."}, refusedAt("db.secret.svc:5432"))
	w.of("web", "a", "n1")
	w.services.Items = append(w.services.Items, v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "secret", Name: "db"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "store"}}})
	h := &herald{town: w}
	for i, node := range []string{"n1", "n1", "n2", "n2", "n3", "n3"} {
		for _, workload := range []string{"hidden", "vault", "crypt"} {
			p := common.Pod{UID: types.UID(workload + string(rune('a'+i))), Namespace: "secret", Node: node, Maker: common.Maker{Namespace: "secret", Kind: "Deployment", Name: workload, Revision: "x"}}
			if node == "n1" {
				p.Faults = []common.Fault{{Cause: answer.DependencyDown}}
			}
			h.scene.Pods = append(h.scene.Pods, p)
		}
		own := common.Pod{UID: types.UID("web" + string(rune('a'+i))), Namespace: "shop", Node: node, Maker: common.Maker{Namespace: "shop", Kind: "Deployment", Name: "web", Revision: "a"}}
		if node != "n1" {
			h.scene.Pods = append(h.scene.Pods, own)
		}
	}
	h.scene.Pods[0].Asks = []string{"db:5432"}
	server := httptest.NewServer(w)
	defer server.Close()
	for _, within := range []bool{true, false} {
		from, err := Connect(&rest.Config{Host: server.URL}, Options{Namespace: "shop", Front: h, Within: within, NoFront: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := from.About(t.Context(), Target{Kind: "pod", Name: "web1"})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(all[0].Text(answer.Style{Wide: true})), " ")
		if told := strings.Contains(text, "7 of 7 pods on node n1 fail so, and 0 of 16 of the same workloads elsewhere: it is the node."); told == within {
			t.Errorf("within %v: %s", within, text)
		}
		if told := strings.Contains(text, "2 pods fail, and say that secret/db fails them."); told == within {
			t.Errorf("within %v: %s", within, text)
		}
		for _, not := range []string{"hidden", "vault", "crypt"} {
			if strings.Contains(text, not) {
				t.Errorf("within %v %s is told of: %s", within, not, text)
			}
		}
	}
}

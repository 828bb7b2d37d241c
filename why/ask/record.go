package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/record"
	"whylet.dev/whylet/why/serve"
)

// Recorded makes a Cluster of a recorded case, which is asked as of the recording; without facts
// as if nobody on its nodes remembered.
func Recorded(c *record.Case, facts bool, o Options) (*Cluster, error) {
	client, err := c.Client(facts)
	if err != nil {
		return nil, err
	}
	o.Now = func() time.Time { return c.Time }
	return Connect(&rest.Config{Host: "http://recorded", Transport: client}, o)
}

// recorder records a namespace. Many of its methods run at the same time.
type recorder struct {
	*question
	lock  sync.Mutex
	into  record.Case
	facts map[string]map[fact.ID]fact.Fact // by node
	pods  []v1.Pod
	// single is set where facts had to be fetched pod by pod.
	single bool
	gone   map[types.UID]types.NamespacedName // pods that events tell of and that are not there
	quiet  map[string]bool                    // namespaces that want no log lines kept
}

// Record gives what is known of the namespace of the options, or of all, as of now: the facts of its pods
// and of their nodes, the last lines of its containers, and the API's objects, without secrets.
// Where memory is not nil, it is asked for the facts of the pods on a node of that name, and the
// nodes are not. What cannot be read is named in the case; the error says that it has no pods to
// read, or no objects at all.
func (c *Cluster) Record(ctx context.Context, memory journal.Source, progress func(string)) (*record.Case, error) {
	q, ctx, cancel := c.begin(ctx, "")
	defer cancel()
	r := &recorder{question: q, facts: map[string]map[fact.ID]fact.Fact{}, gone: map[types.UID]types.NamespacedName{}, quiet: map[string]bool{}}
	r.into = record.Case{Manifest: record.Manifest{Namespace: q.space}, Logs: map[string][]byte{}, Facts: map[string][]byte{}}
	progress("objects")
	if err := r.objects(ctx); err != nil {
		return nil, err
	}
	progress("logs of " + prose.Plural(len(r.pods), "pod"))
	r.logs(ctx)
	progress("facts")
	if memory != nil {
		r.fromMemory(memory)
	} else {
		r.fromNodes(ctx)
	}
	r.elsewhere(ctx)
	if err := r.writeFacts(); err != nil {
		return nil, err
	}
	r.into.Time = q.now()
	slices.Sort(r.into.Missing)
	return &r.into, nil
}

// miss notes what could not be read.
func (r *recorder) miss(what string, err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.into.Missing = append(r.into.Missing, fmt.Sprintf("%s: %v", what, err))
}

// keep takes an object of the API, which says what it is.
func (r *recorder) keep(raw []byte) {
	clean, err := record.Object(raw)
	if err != nil {
		r.miss("an object", err)
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.into.Objects = append(r.into.Objects, clean)
}

// errNoLines says why logs are not recorded.
var errNoLines = errors.New("not to be kept (annotation " + fact.LogLines + ")")

// objects reads those of all kinds.
func (r *recorder) objects(ctx context.Context) error {
	if r.space != "" {
		if _, err := r.client.CoreV1().Namespaces().Get(ctx, r.space, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no namespace %s; kubectl get namespaces lists them", r.space)
		}
	}
	all, errs := make([][]json.RawMessage, len(record.Kinds)), make([]error, len(record.Kinds))
	each(record.Kinds, func(i int, k record.Kind) {
		if k.Resource == "namespaces" && r.space != "" {
			var one json.RawMessage
			one, errs[i] = r.client.CoreV1().RESTClient().Get().AbsPath(k.Path(""), r.space).Do(ctx).Raw()
			if errs[i] == nil {
				all[i] = []json.RawMessage{one}
			}
		} else {
			all[i], errs[i] = r.listOfKind(ctx, k)
		}
	})
	whole, held := true, []string{}
	for i, k := range record.Kinds {
		if errs[i] != nil {
			if k.Kind == "Pod" && len(all[i]) == 0 {
				return fmt.Errorf("listing the pods: %w", errs[i])
			}
			r.miss(k.Resource, errs[i])
			whole = false
		} else {
			held = append(held, k.Held(r.space))
		}
		for _, raw := range all[i] {
			r.keep(raw)
			var pod v1.Pod
			if k.Kind == "Pod" && json.Unmarshal(raw, &pod) == nil {
				r.pods = append(r.pods, pod)
			}
			var space v1.Namespace
			if k.Kind == "Namespace" && json.Unmarshal(raw, &space) == nil && !fact.AllowsLogLines(space.Annotations) {
				r.quiet[space.Name] = true
				r.miss("logs of namespace "+space.Name, errNoLines)
			}
			var event v1.Event
			if k.Kind == "Event" && json.Unmarshal(raw, &event) == nil && event.InvolvedObject.Kind == "Pod" {
				r.gone[event.InvolvedObject.UID] = types.NamespacedName{Namespace: event.InvolvedObject.Namespace, Name: event.InvolvedObject.Name}
			}
		}
	}
	for i := range r.pods {
		delete(r.gone, r.pods[i].UID)
	}
	if !whole {
		r.into.Held = held
	}
	return nil
}

// listOfKind reads all objects of a kind, each with what it is. With an error it returns those
// that it has read.
func (r *recorder) listOfKind(ctx context.Context, k record.Kind) ([]json.RawMessage, error) {
	const most, page = 20, "500"
	var all []json.RawMessage
	next := ""
	for range most {
		raw, err := r.client.CoreV1().RESTClient().Get().AbsPath(k.Path(r.space)).Param("limit", page).Param("continue", next).Do(ctx).Raw()
		if err != nil {
			return all, err
		}
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []map[string]json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return all, err
		}
		for _, o := range list.Items {
			o["apiVersion"], o["kind"] = json.RawMessage(`"`+k.Version+`"`), json.RawMessage(`"`+k.Kind+`"`)
			one, err := json.Marshal(o)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		if next = list.Metadata.Continue; next == "" {
			return all, nil
		}
	}
	return all, fmt.Errorf("there are more than %d", len(all))
}

// logs reads the last lines of all containers, of this run and the one before, but of pods of which none may be kept.
func (r *recorder) logs(ctx context.Context) {
	each(r.pods, func(_ int, p v1.Pod) {
		if r.quiet[p.Namespace] {
			return
		}
		if !fact.KeepsLogLines(&p) {
			r.miss("logs of pod "+p.Namespace+"/"+p.Name, errNoLines)
			return
		}
		for _, st := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses) {
			if st.State.Running != nil || st.State.Terminated != nil || st.RestartCount > 0 {
				r.lastLines(ctx, &p, st.Name, false)
			}
			if st.RestartCount > 0 || st.LastTerminationState.Terminated != nil {
				r.lastLines(ctx, &p, st.Name, true)
			}
		}
	})
}

func (r *recorder) lastLines(ctx context.Context, pod *v1.Pod, container string, previous bool) {
	raw, err := logTail(ctx, r.client, pod, container, previous, record.LastLines, mostHeardBytes)
	if err != nil {
		if !apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err) { // there is none
			r.miss("log "+record.LogOf(pod.Namespace, pod.Name, container, previous), err)
		}
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.into.Logs[record.LogOf(pod.Namespace, pod.Name, container, previous)] = record.Lines(raw)
}

// fewNodes is up to how many nodes all are asked: one may remember pods that are gone.
const fewNodes = 8

// fromNodes fetches the facts of each node's pods. Where a node has none, or a front speaks for
// it, they are fetched pod by pod.
func (r *recorder) fromNodes(ctx context.Context) {
	on := map[string][]v1.Pod{}
	for _, p := range r.pods {
		if p.Spec.NodeName != "" {
			on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p)
		}
	}
	if all := r.nodes(); len(all) <= fewNodes {
		for i := range all {
			if _, known := on[all[i].Name]; !known {
				on[all[i].Name] = nil // its facts count without a pod of this namespace, too
			}
		}
	}
	each(slices.Sorted(maps.Keys(on)), func(_ int, node string) {
		for _, p := range on[node] {
			if p.Status.Phase == v1.PodRunning {
				about := r.about(p.Name)
				about.Namespace, about.UID, about.Look = p.Namespace, p.UID, true
				_, _ = fromNode[answer.Answer](ctx, r.question, node, about) // what it looks at becomes a fact
			}
		}
		if err := r.ofNode(ctx, node, on[node]); err == nil {
			return
		}
		r.lock.Lock()
		r.single = true
		r.lock.Unlock()
		if err := r.byPod(ctx, on[node]); err != nil {
			r.miss("facts of node "+node, err)
		}
	})
	if r.single {
		_ = r.byPod(ctx, r.lost()) // mostly nobody remembers one that never had a node
	}
}

// ofNode fetches what a node remembers, namespace by namespace; the error is the first.
func (r *recorder) ofNode(ctx context.Context, node string, pods []v1.Pod) error {
	for _, space := range slices.Sorted(maps.Keys(r.spaces(pods))) {
		about := r.about("")
		about.Namespace, about.Within = space, space
		f, err := r.question.facts(ctx, node, about)
		if err != nil {
			return err
		}
		part, err := r.partOf(f, about)
		if err != nil {
			return err
		}
		r.take(node, part.Source)
	}
	return nil
}

// byPod fetches the facts of some pods one by one, wherever they are; the error is the last.
func (r *recorder) byPod(ctx context.Context, pods []v1.Pod) (missed error) {
	for _, p := range pods {
		about := r.about(p.Name)
		about.Namespace, about.UID, about.Within = p.Namespace, p.UID, r.space
		part, err := r.in(p.Namespace).behindPod(ctx, about)
		if err != nil {
			missed = err
			continue
		}
		r.take(part.Node, part.Source)
	}
	return missed
}

// mostLost is of how many pods that are gone the facts are fetched one by one.
const mostLost = 20

func (r *recorder) lost() []v1.Pod {
	var all []v1.Pod
	for _, uid := range slices.Sorted(maps.Keys(r.gone)) {
		if len(all) < mostLost {
			all = append(all, v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.gone[uid].Namespace, Name: r.gone[uid].Name, UID: uid}})
		}
	}
	return all
}

// fromMemory takes the facts of a journal on this machine: those of the node that most pods have.
func (r *recorder) fromMemory(s journal.Source) {
	count := map[string]int{}
	node := ""
	for _, p := range r.pods {
		if name := p.Spec.NodeName; name != "" {
			if count[name]++; count[name] > count[node] {
				node = name
			}
		}
	}
	if all := r.nodes(); node == "" && len(all) == 1 {
		node = all[0].Name
	}
	if node == "" {
		r.miss("facts", errors.New("no pod is on a node"))
		return
	}
	for space := range r.spaces(r.pods) {
		about := r.about("")
		about.Namespace = space
		found, err := serve.Facts(s, about)
		if err != nil {
			r.miss("facts of node "+node, err)
		}
		r.add(node, found)
	}
}

// spaces are the namespaces that are recorded and have pods; the only one has none perhaps.
func (r *recorder) spaces(pods []v1.Pod) map[string]bool {
	all := map[string]bool{}
	if r.space != "" {
		all[r.space] = true
	}
	for _, p := range pods {
		all[p.Namespace] = true
	}
	return all
}

// take keeps all facts of a source.
func (r *recorder) take(node string, s journal.Source) {
	var found []fact.Fact
	for f, err := range s.Query(journal.Query{}) {
		if err != nil {
			r.miss("a fact of node "+node, err)
			continue
		}
		found = append(found, f)
	}
	r.add(node, found)
}

func (r *recorder) add(node string, found []fact.Fact) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.facts[node] == nil {
		r.facts[node] = map[fact.ID]fact.Fact{}
	}
	for _, f := range found {
		r.facts[node][f.ID] = fact.Outward(f)
	}
}

// writeFacts writes the facts of each node as an exported journal that is unpacked.
func (r *recorder) writeFacts() error {
	for node, facts := range r.facts {
		var b bytes.Buffer
		lines := json.NewEncoder(&b)
		if err := lines.Encode(journal.Header{Version: journal.ExportVersion, Node: node, Exported: r.now()}); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(facts)) {
			line, err := facts[id].MarshalJSON()
			if err == nil {
				line, err = record.Fact(line)
			}
			if err != nil {
				return fmt.Errorf("writing fact %d of node %s: %w", id, node, err)
			}
			b.Write(append(line, '\n'))
		}
		if err := lines.Encode(journal.Trailer{Facts: int64(len(facts))}); err != nil {
			return err
		}
		r.into.Facts[node] = b.Bytes()
	}
	return nil
}

// inAnother is a Service of a namespace, as pods name it.
var inAnother = regexp.MustCompile(`\b([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\.([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\.svc\b`)

// mostElsewhere is how many Services of other namespaces are looked at.
const mostElsewhere = 20

// elsewhere reads the Services of other namespaces that the namespace names, or notes that they
// are not there.
func (r *recorder) elsewhere(ctx context.Context) {
	if r.space == "" {
		return // they are all there
	}
	named := map[string]bool{}
	texts := slices.Collect(maps.Values(r.into.Logs))
	for _, o := range r.into.Objects {
		texts = append(texts, o)
	}
	for _, text := range texts {
		for _, m := range inAnother.FindAllSubmatch(text, -1) {
			if space := string(m[2]); space != r.space {
				named[space+"/"+string(m[1])] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(named))
	services, _ := record.KindOf("v1", "Service")
	for _, name := range all[:min(len(all), mostElsewhere)] {
		space, service, _ := strings.Cut(name, "/")
		raw, err := r.client.CoreV1().RESTClient().Get().AbsPath(services.Path(space), service).Do(ctx).Raw()
		switch {
		case err == nil:
			r.keep(raw)
		case apierrors.IsNotFound(err):
			r.into.Absent = append(r.into.Absent, name)
			_, err := r.client.CoreV1().Namespaces().Get(ctx, space, metav1.GetOptions{})
			if apierrors.IsNotFound(err) && !slices.Contains(r.into.Absent, space) {
				r.into.Absent = append(r.into.Absent, space)
			}
		default:
			r.miss("service "+name, err)
		}
	}
}

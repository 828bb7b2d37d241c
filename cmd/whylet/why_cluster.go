package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// api asks the nodes through the API server.
type api struct {
	client  kubernetes.Interface
	options *whyOptions
	space   string // "" for every namespace
	nodes   *int   // how many there are, once somebody asked; 0: not known
	look    bool   // have the nodes look into pods anew
	// places are the nodes that a pod without one could have, once a question turned to
	// them: many pods may wait.
	places *v1.NodeList
}

// cluster finds the API server as kubectl does; where nothing is said at all, it
// takes the local node's own kubeconfig.
func (o *whyOptions) cluster() (asked, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	local := filepath.Join(defaultDataDir, "kubeconfig", "admin.conf")
	if o.kubeconfig == "" && os.Getenv("KUBECONFIG") == "" && !exists(clientcmd.RecommendedHomeFile) && exists(local) {
		rules.ExplicitPath = local
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to ask: %w; say --kubeconfig, or --data-dir for the memory of a node on this machine", err)
	}
	config.UserAgent = "kubectl-why/" + version
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c := &api{client: client, options: o, space: o.namespace}
	if c.space == "" && !o.everywhere {
		if c.space, _, err = loader.Namespace(); err != nil {
			return nil, fmt.Errorf("finding the namespace: %w", err)
		}
	}
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// asking bounds one question to one node.
const asking = 20 * time.Second

func (c *api) answer(ctx context.Context, t target) ([]answer.Answer, error) {
	c.places = nil
	if t.kind != "pod" {
		return c.workload(ctx, t)
	}
	pod, err := c.client.CoreV1().Pods(c.space).Get(ctx, t.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return c.departed(ctx, t.name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %s/%s: %w", c.space, t.name, err)
	}
	a, err := c.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	return []answer.Answer{a}, nil
}

// pod asks about a pod that exists: its node, or the scheduler's condition.
func (c *api) pod(ctx context.Context, pod *v1.Pod) (answer.Answer, error) {
	if pod.Spec.NodeName == "" {
		return cluster.Unscheduled(pod, c.around(ctx, pod), time.Now().UTC()), nil
	}
	var a answer.Answer
	err := c.ask(ctx, pod.Spec.NodeName, pod.Name, string(pod.UID), &a)
	if err != nil {
		node, nodeErr := c.client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		if nodeErr == nil || apierrors.IsNotFound(nodeErr) {
			if lost, ok := cluster.NodeLostAnswer(pod, node, time.Now().UTC()); ok {
				return lost, nil
			}
		}
		return a, fmt.Errorf("asking node %s about pod %s/%s: %w", pod.Spec.NodeName, pod.Namespace, pod.Name, err)
	}
	cluster.StillThere(&a, pod)
	return a, nil
}

// around looks at what a pod without a node may wait for; what may not be read is left out.
func (c *api) around(ctx context.Context, pod *v1.Pod) cluster.Around {
	if c.places == nil {
		c.places = &v1.NodeList{}
		if nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"}); err == nil {
			c.places = nodes
		}
	}
	return cluster.Around{Storage: c.storage(ctx, pod), Nodes: c.places.Items}
}

// storage reads what a pod's volume claims are about; not everybody may.
func (c *api) storage(ctx context.Context, pod *v1.Pod) (s cluster.Storage) {
	if len(cluster.ClaimNames(pod)) == 0 {
		return s
	}
	if claims, err := c.client.CoreV1().PersistentVolumeClaims(pod.Namespace).List(ctx, metav1.ListOptions{}); err == nil {
		s.Claims = claims
	}
	if classes, err := c.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{}); err == nil {
		s.Classes = classes
	}
	return s
}

// departed asks all nodes about a pod that does not exist any more.
func (c *api) departed(ctx context.Context, name string) ([]answer.Answer, error) {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var found []answer.Answer
	var errs []error
	for _, n := range nodes.Items {
		var a answer.Answer
		switch err := c.ask(ctx, n.Name, name, "", &a); {
		case err == nil:
			found = append(found, a)
		case !apierrors.IsNotFound(err):
			errs = append(errs, fmt.Errorf("asking node %s: %w", n.Name, err))
		}
	}
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b answer.Answer) int { return a.Journal.From.Compare(b.Journal.From) })
		return []answer.Answer{newest}, nil
	}
	return nil, errors.Join(append(errs, c.notKnown(ctx, name))...)
}

// notKnown names pods with names like it.
func (c *api) notKnown(ctx context.Context, name string) error {
	e := &serve.NotKnownError{Namespace: c.space, Name: name}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 5000})
	if err != nil {
		return e
	}
	for _, p := range pods.Items {
		if len(e.Near) < 5 && (p.Name == name || p.Namespace == c.space && serve.Alike(p.Name, name)) {
			e.Near = append(e.Near, p.Namespace+"/"+p.Name)
		}
	}
	return e
}

// ask puts a question to a node, through the API server; its RBAC decides. more are
// names and values of other parameters.
func (c *api) ask(ctx context.Context, node, name, uid string, into any, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	r := c.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("why").
		Param("namespace", c.space).Param("name", name).Param("uid", uid).Param("container", c.options.container)
	if c.alone(ctx) {
		r = r.Param("alone", "true")
	}
	for i := 0; i+1 < len(more); i += 2 {
		r = r.Param(more[i], more[i+1])
	}
	if c.look {
		r = r.Param("look", "true")
	}
	if c.options.since > 0 {
		r = r.Param("since", c.options.since.String())
	}
	if c.options.suggest {
		r = r.Param("suggest", "true")
	}
	if len(c.options.whatIf) > 0 {
		r = r.Param("whatif", c.options.changes())
	}
	raw, err := patient(ctx, r)
	if err != nil {
		return said(err, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the answer of node %s is not understood: %w", node, err)
	}
	return nil
}

// comesBack is how long an agent that starts anew may take to listen again.
const comesBack = 3 * time.Second

// patient asks again for a moment when nobody listens at the node: its agent may be
// starting.
func patient(ctx context.Context, r *rest.Request) (raw []byte, err error) {
	_ = wait.PollUntilContextTimeout(ctx, comesBack/10, comesBack, true, func(context.Context) (bool, error) {
		raw, err = r.Do(ctx).Raw()
		return !apierrors.IsServiceUnavailable(err), nil
	})
	return raw, err
}

// alone says whether the cluster has one node only; false where that is not told.
func (c *api) alone(ctx context.Context) bool {
	if c.nodes == nil {
		c.nodes = new(int)
		if list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 2}); err == nil {
			*c.nodes = len(list.Items)
		}
	}
	return *c.nodes == 1
}

// said puts a node's own words into the error that the client made of them.
func said(err error, raw []byte) error {
	if text := strings.TrimSpace(string(raw)); text != "" && len(text) < 500 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// all asks every node about all its pods, and adds those without a node.
func (c *api) all(ctx context.Context) ([]answer.Answer, error) {
	c.places = nil
	if c.options.everywhere {
		c.space = ""
	}
	pods, err := c.client.CoreV1().Pods(c.space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	now := time.Now().UTC()
	var all []answer.Answer
	nodes, byUID := map[string]bool{}, map[types.UID]*v1.Pod{}
	for i := range pods.Items {
		p := &pods.Items[i]
		byUID[p.UID] = p
		if p.Spec.NodeName == "" {
			all = append(all, cluster.Unscheduled(p, c.around(ctx, p), now))
		} else {
			nodes[p.Spec.NodeName] = true
		}
	}
	var errs []error
	for n := range nodes {
		var list serve.List
		if err := c.ask(ctx, n, "", "", &list); err != nil {
			errs = append(errs, fmt.Errorf("asking node %s: %w", n, err))
			continue
		}
		for i := range list.Items {
			if p := byUID[list.Items[i].Subject.UID]; p != nil {
				cluster.StillThere(&list.Items[i], p)
			}
		}
		all = append(all, list.Items...)
	}
	answer.WorstFirst(all)
	return all, errors.Join(errs...)
}

package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/deploy"
)

func newDoctor(env Env) *cobra.Command {
	o := &options{Env: env}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what the nodes of a cluster let be seen, and what the rest costs in answers",
		Long: `Say what the nodes of a cluster let be seen, by pools of nodes, and what is missing from
answers where something is not: by what each agent said of its node as it started.

Without an agent answers are made of what the API server shows, which they call level 0. An
agent adds the container runtime, the kernel and every attempt of kubelet's probes, as far as
its node lets it. Of each pool at most ten nodes are looked at.`,
		Example: `  kubectl why doctor`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, _, err := o.clients()
			if err != nil {
				return err
			}
			return o.doctor(cmd.Context(), client)
		},
	}
	o.register(cmd)
	return cmd
}

// mostAsked is how many nodes of a pool are looked at.
const mostAsked = 10

// pool are nodes that were made alike.
type pool struct {
	name  string
	nodes []*v1.Node
	// without an agent, with the reason.
	without []string
	// looked is what agents said, by node.
	looked map[string][]sight
}

func (o *options) doctor(ctx context.Context, client kubernetes.Interface) error {
	set, err := client.AppsV1().DaemonSets(o.namespace()).Get(ctx, deploy.Agent, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err := fmt.Fprintf(o.Out, "There are no agents in namespace %s: of pods on nodes that are not Whylet's own, answers are made of what\n"+
			"the API server shows (level 0). kubectl why install puts an agent on each node.\n", o.namespace())
		return err
	}
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods(o.namespace()).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(set.Spec.Selector)})
	if err != nil {
		return err
	}
	agents := map[string]*v1.Pod{}
	for i := range pods.Items {
		agents[nodeOf(&pods.Items[i])] = &pods.Items[i]
	}
	for _, p := range pools(nodes.Items) {
		if err := p.look(ctx, client, agents); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(o.Out, p.String()); err != nil {
			return err
		}
	}
	return nil
}

// poolLabels are what makers of nodes call their pools.
var poolLabels = []string{
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "karpenter.sh/nodepool",
	"doks.digitalocean.com/node-pool", "cattle.io/nodepool",
}

// poolOf names a node's pool; where no label does, by what the node is made of.
func poolOf(n *v1.Node) string {
	for _, label := range poolLabels {
		if name := n.Labels[label]; name != "" {
			return name
		}
	}
	i := n.Status.NodeInfo
	return strings.Join([]string{i.OSImage, "kernel " + i.KernelVersion, i.ContainerRuntimeVersion}, ", ")
}

func pools(nodes []v1.Node) []*pool {
	by := map[string]*pool{}
	for i := range nodes {
		name := poolOf(&nodes[i])
		if by[name] == nil {
			by[name] = &pool{name: name, looked: map[string][]sight{}}
		}
		by[name].nodes = append(by[name].nodes, &nodes[i])
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
}

// look reads what the agents of some of the nodes said.
func (p *pool) look(ctx context.Context, client kubernetes.Interface, agents map[string]*v1.Pod) error {
	var all sync.WaitGroup
	var lock sync.Mutex
	asked := 0
	for _, n := range p.nodes {
		agent := agents[n.Name]
		switch {
		case agent == nil:
			p.without = append(p.without, n.Name+": none was made for it")
			continue
		case notReady(agent) != "":
			p.without = append(p.without, n.Name+": "+notReady(agent))
			continue
		case asked == mostAsked:
			continue
		}
		asked++
		all.Go(func() {
			sights, err := sightsOf(ctx, client, agent)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				p.without = append(p.without, n.Name+": its log cannot be read: "+err.Error())
				return
			}
			p.looked[n.Name] = sights
		})
	}
	all.Wait()
	slices.Sort(p.without)
	return ctx.Err()
}

// beginning is how much of an agent's log is read.
const beginning = 64 << 10

func sightsOf(ctx context.Context, client kubernetes.Interface, agent *v1.Pod) ([]sight, error) {
	limit := int64(beginning)
	log, err := client.CoreV1().Pods(agent.Namespace).GetLogs(agent.Name, &v1.PodLogOptions{Container: "agent", LimitBytes: &limit}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return readSights(log)
}

// String is the pool's paragraph. Nodes that see the same are told of once.
func (p *pool) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", p.name, count(len(p.nodes), "node"))
	alike := map[string][]string{}
	for node, sights := range p.looked {
		alike[told(sights)] = append(alike[told(sights)], node)
	}
	for _, text := range slices.Sorted(maps.Keys(alike)) {
		nodes := alike[text]
		slices.Sort(nodes)
		fmt.Fprintf(&b, "  %s%s\n", text, "\n  seen on "+strings.Join(nodes, ", "))
	}
	for _, w := range p.without {
		fmt.Fprintf(&b, "  no agent on %s (answers are of level 0: the API server alone)\n", w)
	}
	return b.String()
}

func told(all []sight) string {
	if len(all) == 0 {
		return "not known: the agents' logs do not begin with their start; restarting them shows it"
	}
	out := []string{sees(all)}
	for _, s := range all {
		sign := "yes"
		if !s.seen {
			sign = "no "
		}
		out = append(out, fmt.Sprintf("    %s  %-18s %s", sign, s.name, s.what))
	}
	return strings.Join(out, "\n")
}

func isReady(n *v1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

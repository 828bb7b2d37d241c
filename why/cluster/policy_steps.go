package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/netpol"
	"whylet.dev/whylet/why/prose"
)

// policySteps are what to do about a connection that a policy blocks: admit it there, or give the other end the label
// that a rule wants.
func policySteps(c netpol.Connection, r netpol.Result) []answer.Fix {
	m, p := r.Nearest, r.Nearest.Policy
	_, peer := r.Ends(c)
	where := prose.Whether(asksDNS(c) && peer.Unknown, " (most clusters have their DNS in namespace kube-system)", "")
	steps := []answer.Fix{{Text: fmt.Sprintf("allow the connection in NetworkPolicy %s%s, if it is meant to work", p.Name, where), Command: kubectl.Command(p.Namespace, "edit networkpolicy %s", p.Name), Risk: answer.Limits}}
	if patch := admitting(c, r, peer); patch != "" {
		steps[0].Command = kubectl.Command(p.Namespace, "patch networkpolicy %s --type=json -p %s", p.Name, patch)
	}
	if all, ok := onlyLabels(m); ok && peer.Pod != nil {
		step := kubectl.EditTemplate(peer.Pod.Namespace, peer.Pod, fmt.Sprintf("or give pod %s the label %s, if it is meant to have it", peer.Pod.Name, strings.Join(all, " and ")))
		if kubectl.Workload(peer.Pod) == "" {
			step.Command, step.Risk = kubectl.Command(peer.Pod.Namespace, "label pod %s --overwrite %s", peer.Pod.Name, shell.Words(all...)), answer.Limits
		}
		steps = append(steps, step)
	}
	return append(steps, kubectl.Inspect("read the whole policy", kubectl.Command(p.Namespace, "describe networkpolicy %s", p.Name)))
}

// onlyLabels returns the labels that alone are missing, if each is wanted with one value.
func onlyLabels(m *netpol.Miss) (all []string, ok bool) {
	if m.Port || m.OtherNamespace || m.Address || len(m.NamespaceLabels) > 0 || len(m.Labels) == 0 {
		return nil, false
	}
	for _, d := range m.Labels {
		if !strings.HasPrefix(d.Wants, d.Key+"=") {
			return nil, false
		}
		all = append(all, d.Wants)
	}
	return all, true
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// admitting is the JSON patch that makes the nearest policy admit a connection; empty if the other end cannot be
// told by its labels or address.
func admitting(c netpol.Connection, r netpol.Result, peer netpol.End) string {
	m, field, peers := r.Nearest, strings.ToLower(string(r.Direction)), ways[r.Direction]
	who := peerFor(peer, m.Policy.Namespace)
	if asksDNS(c) && peer.Unknown {
		who = map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]string{v1.LabelMetadataName: "kube-system"}}}
	}
	ports := portsFor(c)
	rule := map[string]any{peers: []any{who}}
	if len(ports) > 0 {
		rule["ports"] = ports
	}
	add := operation{Op: "add"}
	switch {
	case m.Port && m.PeerAdmits() && len(ports) > 0:
		add.Path, add.Value = fmt.Sprintf("/spec/%s/%d/ports/-", field, m.Rule), ports[0]
	case who == nil:
		return ""
	case m.Rule >= 0 && !m.Port && m.Peer != nil:
		add.Path, add.Value = fmt.Sprintf("/spec/%s/%d/%s/-", field, m.Rule, peers), who
	case len(netpol.RulesOf(m.Policy, r.Direction)) > 0:
		add.Path, add.Value = fmt.Sprintf("/spec/%s/-", field), rule
	default:
		add.Path, add.Value = "/spec/"+field, []any{rule}
	}
	text, err := json.Marshal([]operation{add})
	if err != nil {
		return ""
	}
	return string(text)
}

func portsFor(c netpol.Connection) (all []any) {
	if c.Port == 0 {
		return nil
	}
	all = []any{map[string]any{"protocol": cmp.Or(c.Protocol, v1.ProtocolTCP), "port": c.Port}}
	if asksDNS(c) {
		all = append(all, map[string]any{"protocol": v1.ProtocolTCP, "port": c.Port})
	}
	return all
}

// asksDNS reports whether a connection asks a DNS server, which clients ask by TCP as well.
func asksDNS(c netpol.Connection) bool { return c.Protocol == v1.ProtocolUDP && c.Port == 53 }

// passing fits labels that a pod does not keep, or that all pods of a release have.
var passing = regexp.MustCompile(`(?:^|[./])(?:pod-template-hash|controller-revision-hash|pod-template-generation|pod-name|pod-index|controller-uid|job-name|job-completion-index|batch\.kubernetes\.io/.*|chart|heritage|version|managed-by)$`)

// telling are the labels that tell workloads apart, the best first.
var telling = []string{"app.kubernetes.io/name", "app", "k8s-app", "name"}

// peerFor is the peer of a rule in a namespace that stands for an end of a connection; nil if there is none.
func peerFor(e netpol.End, namespace string) any {
	if e.Pod == nil {
		if len(e.Addresses) == 0 || strings.Contains(e.Addresses[0], ":") {
			return nil
		}
		return map[string]any{"ipBlock": map[string]string{"cidr": e.Addresses[0] + "/32"}}
	}
	labels := map[string]string{}
	for _, key := range telling {
		if value := e.Pod.Labels[key]; value != "" && len(labels) == 0 {
			labels[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Pod.Labels)) {
		if len(labels) == 0 && !passing.MatchString(key) {
			labels[key] = e.Pod.Labels[key]
		}
	}
	if len(labels) == 0 {
		return nil
	}
	peer := map[string]any{"podSelector": map[string]any{"matchLabels": labels}}
	if e.Pod.Namespace != namespace {
		peer["namespaceSelector"] = map[string]any{"matchLabels": map[string]string{v1.LabelMetadataName: e.Pod.Namespace}}
	}
	return peer
}

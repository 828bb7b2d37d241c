package netpol

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// pod is one that has a label app, and the address that its name ends with.
func pod(namespace, name string, labels map[string]string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: labels}}
	p.Status.PodIP = "10.42.0.7"
	p.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "dns", ContainerPort: 53, Protocol: v1.ProtocolUDP}}}}
	return p
}

// policies reads NetworkPolicies, each of the namespace shop if it names none.
func policies(t *testing.T, text string) (all []networkingv1.NetworkPolicy) {
	t.Helper()
	for i, part := range strings.Split(text, "\n---\n") {
		p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p%d", i)}}
		if strings.TrimSpace(part) == "" {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(part), &p.Spec); err != nil {
			t.Fatalf("%v: %s", err, part)
		}
		all = append(all, p)
	}
	return all
}

// web asks api, both of namespace shop, on port 8080.
func shop() Connection {
	namespace := map[string]string{v1.LabelMetadataName: "shop", "team": "a"}
	web, api := pod("shop", "web", map[string]string{"app": "web", "tier": "front"}), pod("shop", "api", map[string]string{"app": "api"})
	api.Status.PodIP = "10.42.1.9"
	return Connection{Client: End{Pod: web, NamespaceLabels: namespace}, Server: End{Pod: api, NamespaceLabels: namespace}, Port: 8080}
}

func TestEvaluate(t *testing.T) {
	elsewhere := func(labels map[string]string) func(*Connection) {
		return func(c *Connection) {
			c.Client.Pod.Namespace, c.Client.NamespaceLabels = "web", labels
		}
	}
	outside := func(c *Connection) { c.Server = End{Addresses: []string{"203.0.113.9"}}; c.Port = 443 }
	unnamed := func(c *Connection) { c.Server = End{}; c.Port = 443 }
	for name, test := range map[string]struct {
		policies        string
		change          func(*Connection)
		egress, ingress Outcome
	}{
		"no policy":                      {"", nil, Allowed, Allowed},
		"one of other pods":              {"podSelector: {matchLabels: {app: other}}", nil, Allowed, Allowed},
		"default deny ingress":           {"podSelector: {}", nil, Allowed, Denied},
		"default deny egress":            {"podSelector: {}\npolicyTypes: [Egress]", nil, Denied, Allowed},
		"default deny both":              {"podSelector: {}\npolicyTypes: [Ingress, Egress]", nil, Denied, Denied},
		"types by rules: egress":         {"podSelector: {}\negress: [{}]", nil, Allowed, Denied},
		"an empty rule admits all":       {"podSelector: {}\ningress: [{}]", nil, Allowed, Allowed},
		"policies add up":                {"podSelector: {}\n---\npodSelector: {matchLabels: {app: api}}\ningress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]", nil, Allowed, Allowed},
		"another label":                  {"podSelector: {}\ningress: [{from: [{podSelector: {matchLabels: {app: web, tier: back}}}]}]", nil, Allowed, Denied},
		"an expression":                  {"podSelector: {}\ningress: [{from: [{podSelector: {matchExpressions: [{key: tier, operator: In, values: [front, edge]}]}}]}]", nil, Allowed, Allowed},
		"an expression that excludes":    {"podSelector: {}\ningress: [{from: [{podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}]}]", nil, Allowed, Denied},
		"the port":                       {"podSelector: {}\ningress: [{ports: [{port: 8080}]}]", nil, Allowed, Allowed},
		"another port":                   {"podSelector: {}\ningress: [{ports: [{port: 80}]}]", nil, Allowed, Denied},
		"another protocol":               {"podSelector: {}\ningress: [{ports: [{port: 8080, protocol: UDP}]}]", nil, Allowed, Denied},
		"a protocol alone":               {"podSelector: {}\ningress: [{ports: [{protocol: TCP}]}]", nil, Allowed, Allowed},
		"endPort":                        {"podSelector: {}\ningress: [{ports: [{port: 8000, endPort: 8080}]}]", nil, Allowed, Allowed},
		"below endPort":                  {"podSelector: {}\ningress: [{ports: [{port: 8000, endPort: 8079}]}]", nil, Allowed, Denied},
		"a named port":                   {"podSelector: {}\ningress: [{ports: [{port: http}]}]", nil, Allowed, Allowed},
		"a named port of another number": {"podSelector: {}\ningress: [{ports: [{port: http}]}]", func(c *Connection) { c.Port = 9090 }, Allowed, Denied},
		"a named port of UDP":            {"podSelector: {}\ningress: [{ports: [{port: dns, protocol: UDP}]}]", func(c *Connection) { c.Port, c.Protocol = 53, v1.ProtocolUDP }, Allowed, Allowed},
		"a named port of egress":         {"podSelector: {}\npolicyTypes: [Egress]\negress: [{ports: [{port: http}]}]", nil, Allowed, Allowed},
		"a port that is not known":       {"podSelector: {}\ningress: [{ports: [{port: 80}]}]", func(c *Connection) { c.Port = 0 }, Allowed, Undecided},
		"all ports":                      {"podSelector: {}\ningress: [{from: [{podSelector: {}}]}]", func(c *Connection) { c.Port = 0 }, Allowed, Allowed},
		"pods of another namespace":      {"podSelector: {}\ningress: [{from: [{podSelector: {}}]}]", elsewhere(map[string]string{v1.LabelMetadataName: "web"}), Allowed, Denied},
		"its namespace":                  {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]", elsewhere(map[string]string{"team": "b"}), Allowed, Allowed},
		"namespace and pod":              {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {app: web}}}]}]", elsewhere(map[string]string{"team": "b"}), Allowed, Allowed},
		"namespace and another pod":      {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {app: job}}}]}]", elsewhere(map[string]string{"team": "b"}), Allowed, Denied},
		"namespace or pod":               {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}, {podSelector: {matchLabels: {app: job}}}]}]", elsewhere(map[string]string{"team": "b"}), Allowed, Allowed},
		"all namespaces":                 {"podSelector: {}\ningress: [{from: [{namespaceSelector: {}}]}]", elsewhere(nil), Allowed, Allowed},
		"labels that are not known":      {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]", elsewhere(nil), Allowed, Undecided},
		"labels that may be absent":      {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}]}]", elsewhere(nil), Allowed, Undecided},
		"the namespace's name":           {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: web}}}]}]", elsewhere(nil), Allowed, Allowed},
		"another namespace's name":       {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}}]}]", elsewhere(nil), Allowed, Denied},
		"the pod's address":              {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: 10.42.0.0/16}}]}]", nil, Allowed, Allowed},
		"an exception":                   {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: 10.42.0.0/16, except: [10.42.0.0/24]}}]}]", nil, Allowed, Denied},
		"another address":                {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: 192.168.0.0/16}}]}]", nil, Allowed, Denied},
		"a host":                         {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{ipBlock: {cidr: 203.0.113.0/24}}]}]", outside, Allowed, Allowed},
		"a host that no rule has":        {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{podSelector: {}}]}]", outside, Denied, Allowed},
		"a host of no known address":     {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{ipBlock: {cidr: 203.0.113.0/24}}]}]", unnamed, Undecided, Allowed},
		"a named port of a host":         {"podSelector: {}\npolicyTypes: [Egress]\negress: [{ports: [{port: http}]}]", outside, Denied, Allowed},
		"anybody":                        {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{podSelector: {}}]}]", func(c *Connection) { c.Server = End{Unknown: true} }, Undecided, Allowed},
		"anybody, on another port":       {"podSelector: {}\npolicyTypes: [Egress]\negress: [{ports: [{port: 53}]}]", func(c *Connection) { c.Server = End{Unknown: true} }, Denied, Allowed},
		"a Service's address":            {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{ipBlock: {cidr: 10.43.0.0/16}}]}]", func(c *Connection) { c.Server.Services = []string{"10.43.0.7"} }, Undecided, Allowed},
		"a client on the host's network": {"podSelector: {}", func(c *Connection) { c.Client.Pod.Spec.HostNetwork = true }, Allowed, Undecided},
		"a pod itself":                   {"podSelector: {}\npolicyTypes: [Ingress, Egress]", func(c *Connection) { c.Server = c.Client }, Allowed, Allowed},
		"IPv6":                           {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: fd00::/8}}]}]", func(c *Connection) { c.Client.Pod.Status.PodIPs = []v1.PodIP{{IP: "10.42.0.7"}, {IP: "fd00::7"}} }, Allowed, Allowed},
		"a CIDR that cannot be read":     {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: x}}]}]", nil, Allowed, Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			c := shop()
			if test.change != nil {
				test.change(&c)
			}
			all := policies(t, test.policies)
			if got := Egress(all, c).Outcome; got != test.egress {
				t.Errorf("egress: %d, want %d", got, test.egress)
			}
			if got := Ingress(all, c).Outcome; got != test.ingress {
				t.Errorf("ingress: %d, want %d", got, test.ingress)
			}
		})
	}
}

// The rule that comes nearest is told with what differs.
func TestNearest(t *testing.T) {
	for name, test := range map[string]struct{ policies, want string }{
		"none":                {"podSelector: {}", "p0 rule -1"},
		"a label":             {"podSelector: {}\ningress: [{from: [{podSelector: {matchLabels: {app: job, x: y}}}, {podSelector: {matchLabels: {app: web, tier: back}}}]}]", "p0 rule 0 label tier=back, not front"},
		"an absent label":     {"podSelector: {}\ningress: [{from: [{podSelector: {matchLabels: {role: client}}}]}]", "p0 rule 0 label role=client, not "},
		"the port":            {"podSelector: {}\n---\npodSelector: {}\ningress: [{from: [{ipBlock: {cidr: 1.0.0.0/8}}]}, {ports: [{port: 80}], from: [{podSelector: {matchLabels: {app: web}}}]}]", "p1 rule 1 port"},
		"a namespace's label": {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]", "p0 rule 0 namespace team=b, not a"},
		"an address":          {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: 1.0.0.0/8}}]}]", "p0 rule 0 address"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Ingress(policies(t, test.policies), shop())
			if r.Nearest == nil {
				t.Fatal("nothing comes near")
			}
			m := r.Nearest
			got := fmt.Sprintf("%s rule %d", m.Policy.Name, m.Rule)
			for _, d := range m.Labels {
				got += fmt.Sprintf(" label %s, not %s", d.Wants, d.Has)
			}
			for _, d := range m.NamespaceLabels {
				got += fmt.Sprintf(" namespace %s, not %s", d.Wants, d.Has)
			}
			if m.Port {
				got += " port"
			}
			if m.Address {
				got += " address"
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

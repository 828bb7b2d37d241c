package ask

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/record"
)

// policy adds a NetworkPolicy to namespace shop.
func (v village) policy(name, spec string) {
	v.t.Helper()
	p := networkingv1.NetworkPolicy{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(v.Time.Add(-1e12))}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		v.t.Fatal(err)
	}
	v.add(p)
}

// backend is a Ready pod behind Service backend-service, which leads from port 80 to 8080.
func (v village) backend() {
	v.pod("backend", true, "INFO serving", func(p *v1.Pod) {
		p.Labels["tier"], p.Status.PodIP = "backend", "10.42.0.9"
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	})
	v.service("backend-service", 80, map[string]string{"app": "backend"})
	last := &v.Objects[len(v.Objects)-1]
	*last = []byte(strings.Replace(string(*last), `"targetPort":0`, `"targetPort":"http"`, 1))
}

// client is a Ready pod whose log has a line again and again.
func (v village) client(said string) {
	v.pod("client", true, said, func(p *v1.Pod) { p.Labels["tier"], p.Status.PodIP = "frontend", "10.42.0.7" })
}

// probed is a pod that is not Ready, for a probe of its failed in kubelet's words, and whose log has a line again and again.
func (v village) probed(said, failure string, probe v1.ProbeHandler) {
	v.pod("client", true, said, func(p *v1.Pod) {
		p.Labels["tier"], p.Status.PodIP = "frontend", "10.42.0.7"
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: probe, PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: 3, SuccessThreshold: 1}
		p.Status.ContainerStatuses[0].Ready = false
		p.Status.Conditions[1].Status = v1.ConditionFalse
		p.Status.Conditions[1].Reason = "ContainersNotReady"
	})
	v.add(v1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "client.1", UID: "e1"},
		InvolvedObject: v1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "client", UID: "client", FieldPath: "spec.containers{main}"},
		Reason:         "Unhealthy", Message: "Readiness probe failed: " + failure, Type: v1.EventTypeWarning, Source: v1.EventSource{Component: "kubelet", Host: "n"},
		FirstTimestamp: metav1.NewTime(v.Time.Add(-9 * 60e9)), LastTimestamp: metav1.NewTime(v.Time.Add(-3e9)), Count: 100,
	})
}

// dns adds the cluster's DNS, whose pods another namespace has.
func (v village) dns() {
	p := v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns-1", UID: "coredns-1", Labels: map[string]string{"k8s-app": "kube-dns"}}}
	p.Spec = v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "coredns", Ports: []v1.ContainerPort{{Name: "dns", ContainerPort: 53, Protocol: v1.ProtocolUDP}}}}}
	p.Status = v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.42.0.2", Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	v.add(p)
	v.add(v1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
		Spec: v1.ServiceSpec{ClusterIP: "10.43.0.10", Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: []v1.ServicePort{{Name: "dns", Port: 53, Protocol: v1.ProtocolUDP}, {Name: "dns-tcp", Port: 53}}},
	})
	v.add(v1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", Labels: map[string]string{v1.LabelMetadataName: "kube-system"}}})
	v.Namespace = ""
}

const (
	onlyBackends = "podSelector: {matchLabels: {app: backend}}\ningress: [{from: [{podSelector: {matchLabels: {tier: backend}}}]}]"
	onlyClients  = "podSelector: {matchLabels: {app: backend}}\ningress: [{from: [{podSelector: {matchLabels: {tier: frontend}}}]}]"
	denyAllOut   = "podSelector: {}\npolicyTypes: [Egress]"
	onlyDNSOut   = "podSelector: {}\npolicyTypes: [Egress]\negress: [{ports: [{port: 53, protocol: UDP}, {port: 53}]}]"
	ownOut       = "podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{podSelector: {}}]}]"

	dialTimeout = `ERROR calling backend: Get "http://backend-service/": dial tcp 10.43.0.9:80: i/o timeout`
	dnsTimeout  = `ERROR calling backend: dial tcp: lookup backend-service on 10.43.0.10:53: read udp 10.42.0.7:4711->10.43.0.10:53: i/o timeout`
)

// A connection that nobody answers, or a name that nobody resolves, is traced to the NetworkPolicy that blocks it, and to
// no other one (CASES 3).
func TestNetworkPolicy(t *testing.T) {
	httpGet := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready"}}
	exec := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"wget", "-T", "2", "-qO-", "http://backend-service/"}}}
	for name, test := range map[string]struct {
		make    func(v *village)
		symptom answer.SymptomKind
		policy  string // empty if the cause is another
		says    []string
		never   string
	}{
		"a frontend without a probe": {
			func(v *village) { v.client(dialTimeout); v.backend(); v.policy("backend-allow", onlyBackends) },
			answer.Degraded, "shop/backend-allow",
			[]string{"selects pod shop/backend", "TCP port 8080", "pods with tier=backend", "pod shop/client has tier=frontend", "kubectl -n shop patch networkpolicy backend-allow"},
			"delete pod",
		},
		"a client that says no more than that it was late": {
			func(v *village) {
				v.client("ERROR wget http://backend-service/: wget: download timed out")
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.Degraded, "shop/backend-allow",
			[]string{"tier=backend"},
			"delete pod",
		},
		"a frontend whose readiness probe calls the backend": {
			func(v *village) {
				v.probed(dialTimeout, "HTTP probe failed with statuscode: 503", httpGet)
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.NotReady, "shop/backend-allow",
			[]string{"tier=backend"},
			"delete pod",
		},
		"a readiness probe that times out meanwhile": {
			func(v *village) {
				v.probed(dialTimeout, `Get "http://10.42.0.7:8080/ready": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`, httpGet)
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.NotReady, "shop/backend-allow",
			[]string{"tier=backend"},
			"delete pod",
		},
		"a readiness probe whose command calls the backend": {
			func(v *village) {
				v.probed("", "wget: download timed out", exec)
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.NotReady, "shop/backend-allow",
			[]string{"tier=backend"},
			"delete pod",
		},
		"a policy that admits it": {
			func(v *village) { v.client(dialTimeout); v.backend(); v.policy("backend-allow", onlyClients) },
			answer.Degraded, "",
			[]string{"ruled out", "NetworkPolicies that select the client or the server admit the connection"},
			"delete pod",
		},
		"no policy": {
			func(v *village) { v.client(dialTimeout); v.backend() },
			answer.Degraded, "",
			[]string{"dependency-down"},
			"delete pod",
		},
		"a refused connection": {
			func(v *village) {
				v.client(`ERROR Get "http://backend-service/": dial tcp 10.43.0.9:80: connect: connection refused`)
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.Degraded, "",
			[]string{"refused"},
			"NetworkPolicy",
		},
		"a client that was connected": {
			func(v *village) {
				v.client("ERROR requests.exceptions.ReadTimeout: HTTPConnectionPool(host='backend-service', port=80): Read timed out. (read timeout=2)")
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.Degraded, "",
			[]string{"Read timed out"},
			"NetworkPolicy",
		},
		"egress that is denied": {
			func(v *village) { v.client(dialTimeout); v.backend(); v.policy("deny-out", denyAllOut) },
			answer.Degraded, "shop/deny-out",
			[]string{"It has no egress rule", "/spec/egress"},
			"delete pod",
		},
		"egress to another port": {
			func(v *village) { v.client(dialTimeout); v.backend(); v.policy("only-dns", onlyDNSOut) },
			answer.Degraded, "shop/only-dns",
			[]string{"UDP port 53, TCP port 53", "TCP port 8080"},
			"delete pod",
		},
		"egress to a host outside": {
			func(v *village) {
				v.client("ERROR dial tcp 203.0.113.9:443: i/o timeout")
				v.policy("only-own", ownOut)
			},
			answer.Degraded, "shop/only-own",
			[]string{"blocks its connections to 203.0.113.9 on TCP port 443", "203.0.113.9/32"},
			"",
		},
		"the API server": {
			func(v *village) {
				v.client("E1128 10:01:00.000000       1 reflector.go:150] Failed to watch *v1.Pod: failed to list *v1.Pod: Get \"https://10.43.0.1:443/api/v1/pods\": dial tcp 10.43.0.1:443: i/o timeout")
				v.add(v1.Service{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
					Spec: v1.ServiceSpec{ClusterIP: "10.43.0.1", ClusterIPs: []string{"10.43.0.1"}, Ports: []v1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(6443)}}},
				})
				v.policy("only-dns", onlyDNSOut)
				v.Namespace = ""
			},
			answer.Degraded, "shop/only-dns",
			[]string{"Service default/kubernetes", "6443"},
			"",
		},
		"names that nobody resolves": {
			func(v *village) { v.client(dnsTimeout); v.backend(); v.dns(); v.policy("deny-out", denyAllOut) },
			answer.Degraded, "shop/deny-out",
			[]string{"DNS (Service kube-system/kube-dns)", "UDP port 53", `"k8s-app":"kube-dns"`},
			"",
		},
		"names, where only pods of the namespace are admitted": {
			func(v *village) { v.client(dnsTimeout); v.backend(); v.dns(); v.policy("only-own", ownOut) },
			answer.Degraded, "shop/only-own",
			[]string{"DNS (Service kube-system/kube-dns)", "is in another namespace"},
			"",
		},
		"names, where the DNS pods cannot be read": {
			func(v *village) { v.client(dnsTimeout); v.backend(); v.policy("deny-out", denyAllOut) },
			answer.Degraded, "shop/deny-out",
			[]string{"its DNS server"},
			"",
		},
		"names that libc did not resolve": {
			func(v *village) {
				v.client("ERROR socket.gaierror: [Errno -3] Temporary failure in name resolution")
				v.dns()
				v.policy("deny-out", denyAllOut)
			},
			answer.Degraded, "shop/deny-out",
			[]string{"cannot resolve names"},
			"",
		},
		"names, where DNS is admitted": {
			func(v *village) { v.client(dnsTimeout); v.backend(); v.dns(); v.policy("only-dns", onlyDNSOut) },
			answer.Degraded, "",
			[]string{"dependency-down"},
			"kubectl -n shop patch",
		},
		"policies that were not recorded": {
			func(v *village) {
				v.client(dialTimeout)
				v.backend()
				for _, k := range record.Kinds {
					if k.Kind != "NetworkPolicy" {
						v.Held = append(v.Held, k.Held("shop"))
					}
				}
			},
			answer.Degraded, "",
			[]string{"those of namespace shop were not recorded", "get networkpolicies -o yaml"},
			"delete pod",
		},
		"an init container that waits silently": {
			func(v *village) {
				v.pod("client", true, "", func(p *v1.Pod) {
					p.Labels["tier"] = "frontend"
					p.Spec.InitContainers = []v1.Container{{Name: "wait", Command: []string{"sh", "-c", "until nc -z -w 2 backend-service 80; do sleep 1; done"}}}
					p.Status.Phase = v1.PodPending
					p.Status.InitContainerStatuses = p.Status.ContainerStatuses
					p.Status.InitContainerStatuses[0].Name, p.Status.InitContainerStatuses[0].Ready = "wait", false
					p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
					p.Status.Conditions[1].Status = v1.ConditionFalse
				})
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.NotStarting, "shop/backend-allow",
			[]string{"most likely", "tier=backend"},
			"",
		},
		"words that name nobody, and a variable that does": {
			func(v *village) {
				v.client("ERROR httpx.ConnectTimeout: connection timed out")
				last := &v.Objects[len(v.Objects)-1]
				*last = []byte(strings.Replace(string(*last), `"image":"client"`, `"image":"client","env":[{"name":"BACKEND_URL","value":"http://backend-service/"}]`, 1))
				v.backend()
				v.policy("backend-allow", onlyBackends)
			},
			answer.Degraded, "shop/backend-allow",
			[]string{"most likely", "tier=backend"},
			"",
		},
		"a DNS cache on the node": {
			func(v *village) {
				v.client(strings.ReplaceAll(dnsTimeout, "10.43.0.10", "169.254.20.10"))
				v.dns()
				v.policy("only-own", ownOut)
			},
			answer.Degraded, "",
			[]string{"dependency-down"},
			"kubectl -n shop patch",
		},
		"a node of Whylet's own": {
			func(v *village) {
				v.client(dialTimeout)
				v.backend()
				v.policy("backend-allow", onlyBackends)
				v.Objects[0] = []byte(strings.Replace(string(v.Objects[0]), `"kubeletVersion":""`, `"kubeletVersion":"v1.36.3+whylet"`, 1))
			},
			answer.Degraded, "",
			[]string{"Whylet's own nodes do not enforce policies"},
			"kubectl -n shop patch",
		},
		"a Service of a namespace that was not recorded": {
			func(v *village) {
				v.client(strings.ReplaceAll(dialTimeout, "backend-service", "db.data.svc"))
				v.policy("only-dns", onlyDNSOut)
				v.add(v1.Service{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "db"},
					Spec: v1.ServiceSpec{ClusterIP: "10.43.0.9", Selector: map[string]string{"app": "db"}, Ports: []v1.ServicePort{{Port: 80}}},
				})
			},
			answer.Degraded, "",
			[]string{"dependency-down"},
			"has these labels",
		},
		"kubelet's own probe": {
			func(v *village) {
				v.probed("", `Get "http://10.42.0.7:8080/ready": dial tcp 10.42.0.7:8080: i/o timeout`, httpGet)
				v.policy("deny-in", "podSelector: {}\npolicyTypes: [Ingress, Egress]")
			},
			answer.NotReady, "", nil, "NetworkPolicy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVillage(t)
			test.make(&v)
			a := v.ask("client")
			got := a.Verdicts[0]
			text := strings.Join(strings.Fields(a.Text(answer.Style{Wide: true})), " ")
			t.Log(text)
			policy := ""
			if n := len(got.Hops); n > 0 {
				policy = got.Hops[n-1].Policy
			}
			if a.Symptoms[0].Kind != test.symptom || policy != test.policy || (got.Cause == answer.NetworkPolicy) != (test.policy != "") {
				t.Errorf("%s: %s by policy %q", a.Symptoms[0].Kind, got.Cause, policy)
			}
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if test.never != "" && strings.Contains(text, test.never) {
				t.Errorf("it says %q", test.never)
			}
		})
	}
}

// What a socket shows that nobody answers is traced to a policy as well, unless there were connections between the two.
func TestNetworkPolicyBySockets(t *testing.T) {
	dialing := answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachDialing, Text: "its connection to 10.43.0.2:5432 has not been answered yet"}
	for name, test := range map[string]struct {
		from string
		want answer.Cause
	}{
		"nobody answers":      {"", answer.NetworkPolicy},
		"they were connected": {"10.42.0.1", answer.DependencyDown},
	} {
		w := &town{t: t, answers: map[string]answer.Answer{}}
		w.pod("web1", 80, answer.Healthy, answer.Verdict{Cause: answer.DependencyDown, Text: "Its connections get no answer."}, dialing)
		a := w.answers["web1"]
		a.Symptoms[0].Kind = answer.Degraded
		w.answers["web1"] = a
		w.pod("db2", 5432, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
		if test.from != "" {
			w.seenFrom("db2", test.from, 0.3)
		}
		deny := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deny"}}
		deny.Spec.PodSelector.MatchLabels = map[string]string{"app": "db2"}
		w.policies.Items = append(w.policies.Items, deny)
		if v := w.ask("web1"); v.Cause != test.want {
			t.Errorf("%s: %s: %s", name, v.Cause, v.Text)
		}
		if w.listed != 1 {
			t.Errorf("%s: policies were listed %d times", name, w.listed)
		}
	}
}

// An asker without the right to read policies is told what is missing, and what other kinds of policies there are.
func TestNetworkPoliciesUnread(t *testing.T) {
	dialing := answer.Reach{Container: "web", Place: "10.43.0.2:5432", How: answer.ReachDialing, Text: "its connection to 10.43.0.2:5432 has not been answered yet"}
	for _, test := range []struct {
		forbidden bool
		group     string
		others    int
		want      string
	}{
		{true, "", 0, "you may not list networkpolicies in namespace shop"},
		{false, "cilium.io", 1, "The cluster also has CiliumNetworkPolicies, which are not evaluated here and may block"},
		{false, "cilium.io", 0, ""},
		{false, "metrics.k8s.io", 0, ""},
	} {
		w := &town{t: t, answers: map[string]answer.Answer{}, forbidden: test.forbidden, others: test.others}
		w.groups.Groups = []metav1.APIGroup{{Name: test.group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: test.group + "/v2"}}}}
		w.pod("web1", 80, answer.NotReady, answer.Verdict{Cause: answer.DependencyDown, Text: "Its connections get no answer."}, dialing)
		w.pod("db2", 5432, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
		v := w.ask("web1")
		if v.Cause != answer.DependencyDown || !strings.Contains(v.Text, test.want) || test.want == "" && strings.Contains(strings.ToLower(v.Text), "policies") {
			t.Errorf("%s: %s", v.Cause, v.Text)
		}
	}
}

// That a client got no answer in time shows no hang of a pod to which nothing shows a connection.
func TestLateIsNoHang(t *testing.T) {
	for said, want := range map[string]answer.Cause{
		"wget: download timed out":                         answer.AppUnhealthy,
		"requests.exceptions.ReadTimeout: Read timed out.": answer.AppHang,
		"dial tcp 10.43.0.2:80: i/o timeout":               answer.AppUnhealthy,
		"Get \"http://api2/\": context deadline exceeded":  answer.AppUnhealthy,
	} {
		w := &town{t: t, answers: map[string]answer.Answer{}}
		w.pod("web1", 80, answer.NotReady, saysNo(504), answer.Reach{Container: "web", Place: "api2:80", How: answer.ReachSaid, Text: said, Said: said})
		w.pod("api2", 80, answer.Healthy, answer.Verdict{Cause: answer.None, Text: "Nothing is wrong."})
		w.seenFrom("api2", "10.42.0.99", 0)
		if v := w.ask("web1"); v.Cause != want {
			t.Errorf("%s: %s: %s", said, v.Cause, v.Text)
		}
	}
}

// An asker who may see one namespace is told nothing of others.
func TestNetworkPolicyWithin(t *testing.T) {
	for spec, policy := range map[string]string{denyAllOut: "shop/out", ownOut: ""} {
		v := newVillage(t)
		v.client(dnsTimeout)
		v.backend()
		v.dns()
		v.policy("out", spec)
		from, err := Recorded(v.Case, false, Options{Namespace: "shop", Within: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := from.About(t.Context(), Target{Kind: "pod", Name: "client"})
		if err != nil || len(all) != 1 {
			t.Fatal(len(all), err)
		}
		got := ""
		if hops := all[0].Verdicts[0].Hops; len(hops) > 0 {
			got = hops[0].Policy
		}
		if text := strings.ReplaceAll(all[0].Text(answer.Style{Wide: true}), "-l k8s-app=kube-dns", ""); got != policy || strings.Contains(text, "kube-dns") || strings.Contains(text, "coredns") {
			t.Errorf("%q: %s", got, text)
		}
	}
}

package cluster

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
)

// Who asks the node's name server does not find a Service by its name.
func TestAsksTheNode(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1.PodSpec
		asks bool
	}{
		"as by default":                   {v1.PodSpec{DNSPolicy: v1.DNSClusterFirst}, false},
		"the policy called default":       {v1.PodSpec{DNSPolicy: v1.DNSDefault}, true},
		"the node's network":              {v1.PodSpec{DNSPolicy: v1.DNSClusterFirst, HostNetwork: true}, true},
		"the node's network, and cluster": {v1.PodSpec{DNSPolicy: v1.DNSClusterFirstWithHostNet, HostNetwork: true}, false},
		"its own":                         {v1.PodSpec{DNSPolicy: v1.DNSNone, HostNetwork: true}, false},
	} {
		if _, asks := AsksTheNode(&v1.Pod{Spec: test.spec}); asks != test.asks {
			t.Errorf("%s: %v", name, asks)
		}
	}
}

func TestUnknownThere(t *testing.T) {
	for said, want := range map[string]string{
		"getaddrinfo ENOTFOUND prices":           "The reason is its name server: it asks for Service prices by its name (its variable PRICES names it), and its dnsPolicy is Default",
		"prices: request timed out after 3000ms": "The reason is most likely its name server",
		"prices: connection refused":             "",
	} {
		v := answer.Verdict{Cause: answer.AppUnhealthy}
		v.Say(answer.Parts{What: "The application says: " + answer.RoleWords.Mark(said) + "."})
		pod := podWith("web", "", "", 0)
		sure, ok := NotThere(&answer.Answer{}, v)
		if ok {
			UnknownThere(&v, &pod, "prices", "its variable PRICES names it", "its dnsPolicy is Default", sure)
		}
		if ok != (want != "") || !strings.HasPrefix(v.Text, want) {
			t.Errorf("%s: %s", said, v.Text)
		}
	}
}

// DNS has names of single pods below the Service that their StatefulSet names alone.
func TestNoNameBelow(t *testing.T) {
	service := &v1.Service{}
	service.Namespace, service.Name = "shop", "cache-headless"
	for subdomain, want := range map[string]string{"cache-headless": "", "cache": "and that is cache.", "": "and that is none."} {
		pod := podWith("cache-0", "", "", 0)
		pod.Spec.Subdomain = subdomain
		hop := NoNameBelow(&pod, service, "it asks")
		if hop != nil != (want != "") || want != "" && !strings.HasSuffix(hop.Text, want) {
			t.Errorf("%q: %+v", subdomain, hop)
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"whylet.dev/whylet/cmd/exit"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/pressure"
)

// nodeFlags adds the flags that up and node share. Their defaults are filled in
// later, because what an earlier start was told comes before them.
func nodeFlags(f *pflag.FlagSet, s *settings) {
	f.StringVar(&s.NodeName, "node-name", "", "the node's name (default: the host name)")
	f.StringVar(&s.PodCIDR, "pod-cidr", "", "range of the pods' addresses (default "+defaultPodCIDR+")")
	f.StringVar(&s.NodeMemory, "node-memory", "", "make the node this large, for instance 2Gi; pods together never get more (default: all memory)")
	f.StringVar(&s.EvictionHard, "eviction-hard", "", "how much should be left on the node before pods are evicted (default "+pressure.Default+")")
	f.StringVar(&s.EvictionSoft, "eviction-soft", "", "how much should be left most of the time, such as memory.available<300Mi (default: none)")
	f.StringVar(&s.EvictionSoftGrace, "eviction-soft-grace-period", "", "how long each soft threshold may be exceeded, such as memory.available=90s")
	f.Int64Var(&s.EvictionMaxPodGrace, "eviction-max-pod-grace-period", 0, "seconds that a pod may take to end for a soft threshold")
	f.StringVar(&s.EvictionReclaim, "eviction-minimum-reclaim", "", "how much more than its threshold there must be before no more pods go, such as nodefs.available=500Mi (default: nothing)")
	f.StringVar(&s.EvictionTransition, "eviction-pressure-transition-period", "", "how long a pressure goes on after it was last seen (default 5m)")
	f.StringVar(&s.SystemReserved, "system-reserved", "", "what to keep from pods for the machine, such as cpu=200m,memory=500Mi,ephemeral-storage=1Gi")
	f.StringVar(&s.KubeReserved, "kube-reserved", "", "what to keep from pods for Whylet itself, in the same form")
	f.Int64Var(&s.NodePIDs, "node-pids", 0, "how many processes and threads all pods together may have (default: as many as the machine)")
	f.Int64Var(&s.PodMaxPIDs, "pod-max-pids", 0, "how many processes and threads a pod may have (default: no bound)")
	f.StringVar(&s.OTLPEndpoint, "otlp-endpoint", "", "send the facts as OpenTelemetry logs to this collector, for instance http://otel:4317 (default: nowhere)")
	f.BoolVar(&s.NoProbeAgain, "no-probe-again", false, "send no second, patient request after a probe that timed out (why then cannot tell slow from hanging)")
	f.BoolVar(&s.NoLogLines, "no-log-lines", false, "keep no last lines of a container's log when it ends or does not come up (why then cannot say what it said)")
	f.IntVar(&s.NodeAPIPort, "node-api-port", 0, fmt.Sprintf("port of the node's HTTPS API (default %d)", nodePort))
	f.StringVar(&s.RuntimeEndpoint, "runtime-endpoint", "", "use this CRI runtime, for instance unix:///run/crio/crio.sock (default: a containerd of its own)")
}

const defaultPodCIDR = "10.42.0.0/16"

// merge returns what holds for this start: flags that were given, then what an
// earlier start was told, then defaults.
func merge(given settings, changed func(flag string) bool, stored settings) settings {
	merged := stored
	fields := map[string]struct{ from, to *string }{
		"node-name":       {&given.NodeName, &merged.NodeName},
		"pod-cidr":        {&given.PodCIDR, &merged.PodCIDR},
		"service-cidr":    {&given.ServiceCIDR, &merged.ServiceCIDR},
		"node-memory":     {&given.NodeMemory, &merged.NodeMemory},
		"eviction-hard":   {&given.EvictionHard, &merged.EvictionHard},
		"eviction-soft":   {&given.EvictionSoft, &merged.EvictionSoft},
		"system-reserved": {&given.SystemReserved, &merged.SystemReserved},
		"kube-reserved":   {&given.KubeReserved, &merged.KubeReserved},

		"eviction-soft-grace-period":          {&given.EvictionSoftGrace, &merged.EvictionSoftGrace},
		"eviction-minimum-reclaim":            {&given.EvictionReclaim, &merged.EvictionReclaim},
		"eviction-pressure-transition-period": {&given.EvictionTransition, &merged.EvictionTransition},
		"otlp-endpoint":                       {&given.OTLPEndpoint, &merged.OTLPEndpoint},
		"runtime-endpoint":                    {&given.RuntimeEndpoint, &merged.RuntimeEndpoint},
		"api-address":                         {&given.APIAddress, &merged.APIAddress},
		"kubeconfig":                          {&given.Kubeconfig, &merged.Kubeconfig},
		"client-ca":                           {&given.ClientCA, &merged.ClientCA},
		"serving-cert":                        {&given.ServingCert, &merged.ServingCert},
		"serving-key":                         {&given.ServingKey, &merged.ServingKey},
	}
	for flag, field := range fields {
		if changed(flag) {
			*field.to = *field.from
		}
	}
	if changed("api-port") {
		merged.APIPort = given.APIPort
	}
	if changed("node-api-port") {
		merged.NodeAPIPort = given.NodeAPIPort
	}
	if changed("eviction-max-pod-grace-period") {
		merged.EvictionMaxPodGrace = given.EvictionMaxPodGrace
	}
	if changed("node-pids") {
		merged.NodePIDs = given.NodePIDs
	}
	if changed("pod-max-pids") {
		merged.PodMaxPIDs = given.PodMaxPIDs
	}
	if changed("no-probe-again") {
		merged.NoProbeAgain = given.NoProbeAgain
	}
	if changed("no-log-lines") {
		merged.NoLogLines = given.NoLogLines
	}
	if merged.PodCIDR == "" {
		merged.PodCIDR = defaultPodCIDR
	}
	if merged.NodeName == "" {
		merged.NodeName = hostNodeName()
	}
	return merged
}

// check returns all that is wrong with the settings, as errors of usage.
func (s settings) check() error {
	var errs []error
	if why := validation.IsDNS1123Subdomain(s.NodeName); len(why) > 0 {
		errs = append(errs, fmt.Errorf("--node-name %q: %s", s.NodeName, strings.Join(why, "; ")))
	}
	if cidr, err := netip.ParsePrefix(s.PodCIDR); err != nil || cidr != cidr.Masked() || !cidr.Addr().Is4() {
		errs = append(errs, fmt.Errorf("--pod-cidr %q is not an IPv4 network such as %s", s.PodCIDR, defaultPodCIDR))
	}
	if _, err := s.memory(); err != nil {
		errs = append(errs, err)
	}
	for _, check := range []func() error{
		func() error { _, err := s.eviction(); return err },
		func() error { _, err := s.transition(); return err },
		func() error { _, err := reserved("--system-reserved", s.SystemReserved); return err },
		func() error { _, err := reserved("--kube-reserved", s.KubeReserved); return err },
	} {
		if err := check(); err != nil {
			errs = append(errs, err)
		}
	}
	if s.EvictionMaxPodGrace < 0 {
		errs = append(errs, fmt.Errorf("--eviction-max-pod-grace-period %d is less than nothing", s.EvictionMaxPodGrace))
	}
	if s.OTLPEndpoint != "" {
		if _, err := otlp.New(otlp.Options{Endpoint: s.OTLPEndpoint}); err != nil {
			errs = append(errs, fmt.Errorf("--otlp-endpoint: %w", err))
		}
	}
	if s.NodePIDs < 0 {
		errs = append(errs, fmt.Errorf("--node-pids %d is less than nothing; 0 means as many as the machine", s.NodePIDs))
	}
	if s.PodMaxPIDs < 0 {
		errs = append(errs, fmt.Errorf("--pod-max-pids %d is less than nothing; 0 means no bound", s.PodMaxPIDs))
	}
	if s.RuntimeEndpoint != "" && !strings.HasPrefix(s.RuntimeEndpoint, "unix:///") {
		errs = append(errs, fmt.Errorf("--runtime-endpoint %q is not of the form unix:///path/to/socket", s.RuntimeEndpoint))
	}
	if s.NodeAPIPort < 0 || s.NodeAPIPort > 65535 {
		errs = append(errs, fmt.Errorf("--node-api-port %d is no port", s.NodeAPIPort))
	}
	if (s.ServingCert == "") != (s.ServingKey == "") {
		errs = append(errs, errors.New("--serving-cert and --serving-key belong together; one of them is missing"))
	}
	if err := errors.Join(errs...); err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// nodePort is where the node's HTTPS API listens unless told otherwise, as
// kubelet's does.
const nodePort = 10250

// nodeAPIPort is where this node's does.
func (s settings) nodeAPIPort() int {
	if s.NodeAPIPort == 0 {
		return nodePort
	}
	return s.NodeAPIPort
}

// leastMemory is the smallest node that is of any use, in bytes.
const leastMemory = 64 << 20

// memory is the node's size in bytes, 0 for all of the machine's.
func (s settings) memory() (int64, error) {
	if s.NodeMemory == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(s.NodeMemory)
	if err != nil || q.Value() < leastMemory {
		return 0, fmt.Errorf("--node-memory %q is not an amount of memory of at least 64Mi, such as 2Gi", s.NodeMemory)
	}
	return q.Value(), nil
}

// hostNodeName is the host's name, made fit to be a node's.
func hostNodeName() string {
	host, err := os.Hostname()
	if err != nil {
		return "whylet"
	}
	return sanitiseNodeName(host)
}

// sanitiseNodeName makes a DNS subdomain (RFC 1123) of name: lower case, with a
// hyphen for what may not be in one; "whylet" when nothing is left.
func sanitiseNodeName(name string) string {
	valid := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	var labels []string
	for label := range strings.SplitSeq(valid, ".") {
		if label = strings.Trim(label, "-"); label != "" {
			labels = append(labels, label)
		}
	}
	valid = strings.Join(labels, ".")
	if len(valid) > validation.DNS1123SubdomainMaxLength {
		valid = strings.Trim(valid[:validation.DNS1123SubdomainMaxLength], "-.")
	}
	if valid == "" {
		return "whylet"
	}
	return valid
}

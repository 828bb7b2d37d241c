package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"whylet.dev/whylet/cluster"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/pressure"
)

// setting is one choice that a node keeps, declared once: its flag, its field, what is
// wrong with it, and what it is when nobody chose.
type setting struct {
	flag string
	// command is whose flag it is, where it is not up's and node's.
	command  string
	register func(f *pflag.FlagSet, s *settings, usage string)
	usage    string
	// take copies the field, and complete fills it in where it is empty.
	take     func(to, from *settings)
	complete func(s *settings)
	// check says what is wrong with the field; nil: nothing can be.
	check func(s *settings) error
}

// of declares a setting by its flag and its field.
func of[T string | bool | int | int64](flag string, field func(s *settings) *T, usage string) setting {
	return setting{
		flag: flag, usage: usage,
		take: func(to, from *settings) { *field(to) = *field(from) },
		register: func(f *pflag.FlagSet, s *settings, usage string) {
			switch p := any(field(s)).(type) {
			case *string:
				f.StringVar(p, flag, "", usage)
			case *bool:
				f.BoolVar(p, flag, false, usage)
			case *int:
				f.IntVar(p, flag, 0, usage)
			case *int64:
				f.Int64Var(p, flag, 0, usage)
			}
		},
	}
}

func (x setting) only(command, usage string) setting {
	x.command, x.usage = command, usage
	return x
}

func (x setting) checked(check func(s *settings) error) setting {
	x.check = check
	return x
}

func (x setting) otherwise(complete func(s *settings)) setting {
	x.complete = complete
	return x
}

const defaultPodCIDR = "10.42.0.0/16"

// table has every setting. Defaults that a package below has stay there: an empty
// setting is handed on as it is.
var table = []setting{
	of("node-name", func(s *settings) *string { return &s.NodeName }, "the node's name (default: the host name)").
		otherwise(func(s *settings) { s.NodeName = hostNodeName() }).checked(checkNodeName),
	of("pod-cidr", func(s *settings) *string { return &s.PodCIDR }, "range of the pods' addresses (default "+defaultPodCIDR+")").
		otherwise(func(s *settings) { s.PodCIDR = defaultPodCIDR }).checked(checkPodCIDR),
	of("node-memory", func(s *settings) *string { return &s.NodeMemory }, "make the node this large, for instance 2Gi; pods together never get more (default: all memory)"),
	of("eviction-hard", func(s *settings) *string { return &s.EvictionHard }, "how much should be left on the node before pods are evicted (default "+pressure.Default+")"),
	of("eviction-soft", func(s *settings) *string { return &s.EvictionSoft }, "how much should be left most of the time, such as memory.available<300Mi (default: none)"),
	of("eviction-soft-grace-period", func(s *settings) *string { return &s.EvictionSoftGrace }, "how long each soft threshold may be exceeded, such as memory.available=90s"),
	of("eviction-max-pod-grace-period", func(s *settings) *int64 { return &s.EvictionMaxPodGrace }, "seconds that a pod may take to end for a soft threshold").
		checked(func(s *settings) error {
			return notNegative("eviction-max-pod-grace-period", s.EvictionMaxPodGrace, "")
		}),
	of("eviction-minimum-reclaim", func(s *settings) *string { return &s.EvictionReclaim }, "how much more than its threshold there must be before no more pods go, such as nodefs.available=500Mi (default: nothing)"),
	of("eviction-pressure-transition-period", func(s *settings) *string { return &s.EvictionTransition }, "how long a pressure goes on after it was last seen (default 5m)"),
	of("shutdown-grace-period", func(s *settings) *string { return &s.ShutdownGrace }, "how long pods have to end before the machine shuts down, such as 60s; they then fail, as with kubelet (default: they end with the machine, and start again with it)"),
	of("shutdown-grace-period-critical-pods", func(s *settings) *string { return &s.ShutdownGraceCritical }, "the last part of that time, for pods of a system priority only, such as 10s"),
	of("shutdown-grace-period-by-pod-priority", func(s *settings) *string { return &s.ShutdownGraceByPriority }, "the same by priority in place of these two, such as 0=60s,100000=30s"),
	of("system-reserved", func(s *settings) *string { return &s.SystemReserved }, "what to keep from pods for the machine, such as cpu=200m,memory=500Mi,ephemeral-storage=1Gi"),
	of("kube-reserved", func(s *settings) *string { return &s.KubeReserved }, "what to keep from pods for Whylet itself, in the same form"),
	of("node-pids", func(s *settings) *int64 { return &s.NodePIDs }, "how many processes and threads all pods together may have (default: as many as the machine)").
		checked(func(s *settings) error {
			return notNegative("node-pids", s.NodePIDs, "; 0 means as many as the machine")
		}),
	of("pod-max-pids", func(s *settings) *int64 { return &s.PodMaxPIDs }, "how many processes and threads a pod may have (default: no bound)").
		checked(func(s *settings) error { return notNegative("pod-max-pids", s.PodMaxPIDs, "; 0 means no bound") }),
	of("otlp-endpoint", func(s *settings) *string { return &s.OTLPEndpoint }, "send the facts as OpenTelemetry logs to this collector: http://otel:4317 by gRPC, http://otel:4318/v1/logs by HTTP (default: nowhere)").checked(checkOTLP),
	of("otlp-headers", func(s *settings) *string { return &s.OTLPHeaders }, "file of headers for that collector, one a line, such as Authorization: Bearer TOKEN"),
	of("otlp-with-values", func(s *settings) *bool { return &s.OTLPWithValues }, "leave in the facts for that collector what variables and headers are set to, and secrets"),
	of("front", func(s *settings) *string { return &s.Front }, "tell the front at this host:port of the pods, for instance whylet-fronts.whylet.svc:9443 (default: none)").checked(checkFront),
	of("front-ca", func(s *settings) *string { return &s.FrontCA }, "file of who vouches for that front"),
	of("no-probe-again", func(s *settings) *bool { return &s.NoProbeAgain }, "send no second, patient request, and run no command once more, after a probe that timed out (why then cannot tell slow from hanging)"),
	of("no-log-lines", func(s *settings) *bool { return &s.NoLogLines }, "keep no last lines of a container's log when it ends or does not come up (why then cannot say what it said)"),
	of("node-api-port", func(s *settings) *int { return &s.NodeAPIPort }, fmt.Sprintf("port of the node's HTTPS API (default %d)", nodePort)).checked(checkNodePort),
	of("runtime-endpoint", func(s *settings) *string { return &s.RuntimeEndpoint }, "use this CRI runtime, for instance unix:///run/crio/crio.sock (default: a containerd of its own)").checked(checkEndpoint),

	of("kubeconfig", func(s *settings) *string { return &s.Kubeconfig }, "").only("up", "also add an entry named whylet to this kubeconfig file"),
	of("kubeconfig", func(s *settings) *string { return &s.Kubeconfig }, "").only("node", "kubeconfig of the API server, with the node's own credentials; needed for the first start"),
	of("service-cidr", func(s *settings) *string { return &s.ServiceCIDR }, "").only("up", "range of the Services' addresses (default "+cluster.DefaultServiceCIDR+")"),
	of("api-address", func(s *settings) *string { return &s.APIAddress }, "").only("up", "address that the API server listens on (default "+cluster.DefaultAPIAddress+")"),
	of("api-port", func(s *settings) *int { return &s.APIPort }, "").only("up", fmt.Sprintf("port that the API server listens on (default %d)", cluster.DefaultAPIPort)),
	of("client-ca", func(s *settings) *string { return &s.ClientCA }, "").only("node", "authority of those who may talk to the node's HTTPS API (default: the one in the kubeconfig)"),
	of("serving-cert", func(s *settings) *string { return &s.ServingCert }, "").only("node", "certificate of the node's HTTPS API, for an API server that checks it (default: asked for at the API server)").checked(checkServing),
	of("serving-key", func(s *settings) *string { return &s.ServingKey }, "").only("node", "key of --serving-cert"),
}

// settingFlags adds the flags of a command's settings.
func settingFlags(cmd *cobra.Command, command string, s *settings) {
	for _, x := range table {
		if x.command == "" || x.command == command {
			x.register(cmd.Flags(), s, x.usage)
		}
	}
}

// merge returns what holds for this start: flags that were given, then what an
// earlier start was told, then defaults.
func merge(given settings, changed func(flag string) bool, stored settings) settings {
	merged := stored
	for _, x := range table {
		if changed(x.flag) {
			x.take(&merged, &given)
		}
		if x.complete == nil {
			continue
		}
		// Empty is as good as not given.
		before, empty := merged, settings{}
		if x.take(&before, &empty); before == merged {
			x.complete(&merged)
		}
	}
	return merged
}

// check returns what the settings come to, or all that is wrong with them, as an error
// of usage.
func (s settings) check() (limits, error) {
	var errs []error
	for _, x := range table {
		if x.check != nil {
			errs = append(errs, x.check(&s))
		}
	}
	l, err := s.limits()
	if err := errors.Join(append(errs, err)...); err != nil {
		return l, exit.With(exit.Usage, err)
	}
	return l, nil
}

func checkNodeName(s *settings) error {
	if why := validation.IsDNS1123Subdomain(s.NodeName); len(why) > 0 {
		return fmt.Errorf("--node-name %q: %s", s.NodeName, strings.Join(why, "; "))
	}
	return nil
}

func checkPodCIDR(s *settings) error {
	if cidr, err := netip.ParsePrefix(s.PodCIDR); err != nil || cidr != cidr.Masked() || !cidr.Addr().Is4() {
		return fmt.Errorf("--pod-cidr %q is not an IPv4 network such as %s", s.PodCIDR, defaultPodCIDR)
	}
	return nil
}

func notNegative(flag string, n int64, means string) error {
	if n < 0 {
		return fmt.Errorf("--%s %d is less than nothing%s", flag, n, means)
	}
	return nil
}

func checkOTLP(s *settings) error {
	switch {
	case s.OTLPEndpoint == "" && s.OTLPHeaders != "":
		return errors.New("--otlp-headers are for the collector that --otlp-endpoint names, and it names none: give both, or take the headers back with --otlp-headers= (an earlier start's hold, too)")
	case s.OTLPEndpoint == "":
		return nil
	}
	if _, err := otlp.New(otlp.Options{Endpoint: s.OTLPEndpoint}); err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	_, err := s.otlpHeaders()
	return err
}

// otlpHeaders are what is sent to the collector with each request; nil: nothing.
func (s *settings) otlpHeaders() (http.Header, error) {
	if s.OTLPHeaders == "" {
		return nil, nil
	}
	file, err := os.Open(s.OTLPHeaders)
	if err != nil {
		return nil, fmt.Errorf("--otlp-headers: %w (what was said once holds for later starts, too: --otlp-headers= takes it back)", err)
	}
	defer file.Close()
	h, err := otlp.ReadHeaders(file)
	if err != nil {
		return nil, fmt.Errorf("--otlp-headers %s: %w", s.OTLPHeaders, err)
	}
	return h, nil
}

func checkFront(s *settings) error {
	if s.Front == "" {
		return nil
	}
	if host, _, err := net.SplitHostPort(s.Front); err != nil || host == "" {
		return fmt.Errorf("--front %q is not of the form host:port", s.Front)
	}
	if s.FrontCA == "" {
		return errors.New("--front needs --front-ca: who vouches for it")
	}
	return nil
}

func checkNodePort(s *settings) error {
	if s.NodeAPIPort < 0 || s.NodeAPIPort > 65535 {
		return fmt.Errorf("--node-api-port %d is no port", s.NodeAPIPort)
	}
	return nil
}

func checkEndpoint(s *settings) error {
	if s.RuntimeEndpoint != "" && !strings.HasPrefix(s.RuntimeEndpoint, "unix:///") {
		return fmt.Errorf("--runtime-endpoint %q is not of the form unix:///path/to/socket", s.RuntimeEndpoint)
	}
	return nil
}

func checkServing(s *settings) error {
	if (s.ServingCert == "") != (s.ServingKey == "") {
		return errors.New("--serving-cert and --serving-key belong together; one of them is missing")
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

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

// ExecFunc runs a command in a container and waits for it. The output is
// stdout followed by stderr. The error says that the command could not be run,
// or not to its end: an error that wraps [ErrExecTimeout] or
// context.DeadlineExceeded, or is gRPC's DeadlineExceeded, means that timeout
// passed. A command that ends with another code than 0 is no error.
type ExecFunc func(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (output []byte, exitCode int, err error)

// Target is a probe of one run of a container, and where to find that run.
type Target struct {
	Kind fact.ProbeKind
	Spec *v1.Probe
	// Container resolves named ports, and $(NAME) in commands. It may be nil when
	// neither is used.
	Container   *v1.Container
	ContainerID string
	PodIP       string
	// StartedAt is when the container started: initialDelaySeconds count from it.
	StartedAt time.Time
}

// plan is a Target compiled for many attempts. It is not changed afterwards.
type plan struct {
	kind    fact.ProbeKind
	handler fact.Handler
	where   string // what is probed, for the evidence
	err     error  // why no attempt can be made

	timeout, period, delay time.Duration
	// enough is how many successes in a row the probe asks for.
	enough int32
	// once is set where a try that errs is not made again.
	once      bool
	startedAt time.Time

	address string         // host:port
	addr    netip.AddrPort // the same, when the host is an address: the fast way is open
	own     bool           // the host is the pod itself, so bodies may be kept
	get     *get           // httpGet only
	// family and sockaddr are addr as the kernel wants it.
	family   int
	sockaddr []byte

	containerID string
	command     []string
	service     string // grpc only
	tls         bool   // grpc only
}

// compile resolves all that does not change from one attempt to the next. What
// kubelet finds out at each attempt (an unknown port name…) becomes plan.err.
func compile(t Target) *plan {
	p := &plan{kind: t.Kind, containerID: t.ContainerID, startedAt: t.StartedAt}
	if t.Spec == nil {
		p.err = errors.New("missing probe")
		p.period, p.timeout = 10*time.Second, time.Second
		return p
	}
	// The defaults are the API server's, for specs that never passed it.
	p.timeout = seconds(t.Spec.TimeoutSeconds, 1)
	p.period = seconds(t.Spec.PeriodSeconds, 10)
	p.delay = time.Duration(t.Spec.InitialDelaySeconds) * time.Second
	p.enough = max(t.Spec.SuccessThreshold, 1)
	switch {
	case t.Spec.Exec != nil:
		p.handler = fact.Exec
		p.command = expandCommand(t.Spec.Exec.Command, t.Container)
		p.where = strings.Join(p.command, " ")
	case t.Spec.HTTPGet != nil:
		p.handler = fact.HTTPGet
		p.compileHTTP(t)
	case t.Spec.TCPSocket != nil:
		p.handler = fact.TCPSocket
		p.compileTCP(t)
	case t.Spec.GRPC != nil:
		p.handler = fact.GRPC
		p.own = true
		p.dial(t.PodIP, int(t.Spec.GRPC.Port))
		p.tls = t.Spec.GRPC.Mode != nil && *t.Spec.GRPC.Mode == v1.GRPCProbeModeTLS
		p.where = p.address
		if s := t.Spec.GRPC.Service; s != nil {
			p.service = *s
			p.where += "/" + *s
		}
	default:
		p.err = fmt.Errorf("missing probe handler")
	}
	return p
}

func (p *plan) compileHTTP(t Target) {
	h := t.Spec.HTTPGet
	port, err := resolvePort(h.Port, t.Container)
	if err != nil {
		p.err = err
		return
	}
	host := h.Host
	if host == "" {
		host = t.PodIP
	}
	p.own = host == t.PodIP
	p.dial(host, port)
	p.get, p.err = newGet(h, p.address)
	if p.err == nil {
		p.where = p.get.url
	}
}

func (p *plan) compileTCP(t Target) {
	port, err := resolvePort(t.Spec.TCPSocket.Port, t.Container)
	if err != nil {
		p.err = err
		return
	}
	host := t.Spec.TCPSocket.Host
	if host == "" {
		host = t.PodIP
	}
	p.dial(host, port)
	p.where = p.address
}

func (p *plan) dial(host string, port int) {
	p.address = net.JoinHostPort(host, strconv.Itoa(port))
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.Zone() == "" && !ip.Is4In6() && port > 0 && port < 65536 {
		p.addr = netip.AddrPortFrom(ip, uint16(port))
		p.family, p.sockaddr = sockaddr(p.addr)
	}
}

// fast says whether the poller can make the attempt.
func (p *plan) fast() bool {
	if p.err != nil || !p.addr.IsValid() {
		return false
	}
	return p.handler == fact.TCPSocket || p.handler == fact.HTTPGet && p.get.wire != nil
}

func seconds(n, otherwise int32) time.Duration {
	if n <= 0 {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}

// resolvePort finds a port by number, or by name among the container's ports.
func resolvePort(port intstr.IntOrString, c *v1.Container) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		named, found := portByName(port.StrVal, c)
		if !found {
			return 0, &unknownPort{port.StrVal, c}
		}
		n = named
	}
	if n <= 0 || n >= 65536 {
		return 0, fmt.Errorf("invalid port number: %v", n)
	}
	return n, nil
}

// unknownPort is a port name that the container does not declare. Error has kubelet's
// words; plain lists the names that are declared.
type unknownPort struct {
	name      string
	container *v1.Container
}

func (e *unknownPort) Error() string { return fmt.Sprintf("port %q not found", e.name) }

func (e *unknownPort) plain() string {
	var names []string
	if e.container != nil {
		for _, p := range e.container.Ports {
			if p.Name != "" {
				names = append(names, p.Name)
			}
		}
	}
	declared := "it declares no port with a name"
	if len(names) > 0 {
		declared = "it declares " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("the probe can never work: the container declares no port named %q (%s)", e.name, declared)
}

func portByName(name string, c *v1.Container) (int, bool) {
	if c == nil {
		return 0, false
	}
	for _, p := range c.Ports {
		if p.Name == name {
			return int(p.ContainerPort), true
		}
	}
	return 0, false
}

// expandCommand replaces $(NAME) by the container's literal environment values;
// $$ is a dollar sign, and an unknown name stays as it is written. That is
// Kubernetes' rule for commands (design doc "expansion.md").
func expandCommand(command []string, c *v1.Container) []string {
	env := map[string]string{}
	if c != nil {
		for _, e := range c.Env {
			env[e.Name] = e.Value
		}
	}
	out := make([]string, 0, len(command))
	for _, word := range command {
		out = append(out, expand(word, env))
	}
	return out
}

func expand(word string, env map[string]string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(word, '$')
		if at < 0 || at == len(word)-1 {
			b.WriteString(word)
			return b.String()
		}
		b.WriteString(word[:at])
		rest := word[at+1:]
		end := strings.IndexByte(rest, ')')
		switch {
		case rest[0] == '$':
			b.WriteByte('$')
			word = rest[1:]
		case rest[0] == '(' && end > 0:
			name := rest[1:end]
			if value, ok := env[name]; ok {
				b.WriteString(value)
			} else {
				b.WriteString("$(" + name + ")")
			}
			word = rest[end+1:]
		default:
			b.WriteByte('$')
			b.WriteByte(rest[0])
			word = rest[1:]
		}
	}
}

package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// probeOtherHost: the probe's host field sends it away from the pod, so what fails
// is not the container's doing (kubelet, prober.go: the host is the pod's IP only
// where the field is empty).
func probeOtherHost(p *probing) *finding {
	host := askedBy(p.spec).host
	own := loopback(host)
	if !p.asksAnother() {
		return nil
	}
	f := p.finds(answer.DependencyDown, certain).
		says("The %s probe does not ask container %s: its host is %s, and what fails is there: %s.", kindWord(p.kind), p.run.Container, host, strings.TrimSuffix(p.how(), ".")).
		fix(p.h.specFix("leave the probe's host out, so that the pod itself is asked"))
	if own && !p.worked() {
		f.cause = answer.ProbeWrongPort
		f.text = fmt.Sprintf("The %s probe does not ask container %s: its host is %s, which is the node's own and not the pod's: %s.", kindWord(p.kind), p.run.Container, host, strings.TrimSuffix(p.how(), "."))
	}
	return f
}

// probeRedirected: the application wants HTTPS, and says where. Kubelet follows a
// redirect on the probe's own host (pkg/probe/http/http.go), to whatever port it names.
func probeRedirected(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() || p.mode == answered || !strings.HasPrefix(ev.Target, "http://") || !strings.HasPrefix(ev.Redirected, "https://") {
		return nil
	}
	return p.finds(answer.ProbeWrongScheme, certain).
		says("The application answers %s with a redirect to HTTPS, which the node follows, and there it fails: %s.", p.what(), strings.TrimSuffix(p.how(), ".")).
		fix(p.h.specFix("have the probe ask by HTTPS, on the port where the application speaks it, or for a path that is not redirected"), p.h.inside("see the redirect", p.run.Container, shell.Linef("wget -S -O- %s", prose.Brief(ev.Target, 80))))
}

// ownPort fits a port of loopback, as a command asks it.
var ownPort = regexp.MustCompile(`(?:\blocalhost|\b127(?:\.\d{1,3}){3}|\[::1\])(?::|[ ,]+(?:-p |--?port[= ])?)(\d{1,5})\b`)

// ownURL fits a URL of loopback without a port.
var ownURL = regexp.MustCompile(`\b(https?)://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[/"'\s]|$)`)

// quiet fits the clients of HTTP that a probe's command runs, which may be told to say nothing.
var quiet = regexp.MustCompile(`\b(?:wget|curl)\b`)

// asksOwnPort is the only port of loopback that a probe's command, or what it puts out, has.
func (p *probing) asksOwnPort() (port string, ok bool) {
	for _, text := range []string{p.last.Evidence.Output, strings.Join(p.argv(), " ")} {
		for _, m := range ownPort.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || n == 0 || n > 65535 || port != "" && port != m[1] {
				return "", false
			}
			port = m[1]
		}
		for _, m := range ownURL.FindAllStringSubmatch(text, -1) {
			if usual := prose.Whether(m[1] == "https", "443", "80"); port == "" || port == usual {
				port = usual
			} else {
				return "", false
			}
		}
	}
	return port, port != ""
}

// probeCommandElsewhere: the command asks the container itself, at a port that it does not have.
func probeCommandElsewhere(p *probing) *finding {
	silent := strings.TrimSpace(p.last.Evidence.Output) == "" && quiet.MatchString(strings.Join(p.argv(), " "))
	if p.worked() || !silent && !knowledge.Any(p.last.Evidence.Output, knowledge.ConnectionRefused, knowledge.NoResponse) {
		return nil
	}
	looked, look, seen := p.look()
	if port := p.asksAddress(); seen && port != "" {
		return p.onlyLoopback(looked, look, port)
	}
	port, ok := p.asksOwnPort()
	if ok && !seen && p.h.FromAPI && p.isAlone() {
		return p.loggedElsewhere(port)
	}
	if !seen || !ok {
		return nil
	}
	mine := p.mine(look.Listeners)
	if len(mine) == 0 || len(listenersAt(look.Listeners, port)) > 0 {
		return nil
	}
	f := p.finds(answer.AppListensElse, strong, looked).
		says("The command of %s asks port %s of the container itself, where it does not listen and nobody else of the pod does: %s%s. It listens on %s.",
			p.what(), port, commandSaid(p.last.Evidence), saying(p.last.Evidence.Output), listening(mine)).
		fix(p.h.specFix(fmt.Sprintf("have the command in %sProbe.exec.command ask where container %s listens (port %s), or have the container listen on port %s, too",
			kindWord(p.kind), p.run.Container, strings.Join(portsOf(mine), " or "), port)))
	if n, err := strconv.Atoi(port); err == nil {
		p.enablePlugin(f, n, mine)
	}
	return f
}

// loggedElsewhere: the command asks the container itself at a port, and its log says that it listens on another one alone.
func (p *probing) loggedElsewhere(port string) *finding {
	if p.run.Started == nil {
		return nil
	}
	own, line := words.OnlyPort(p.ownLines())
	if own == 0 || strconv.Itoa(own) == port {
		return nil
	}
	return p.finds(answer.AppListensElse, strong).
		says("The command of %s asks port %s of the container itself: %s%s. Its log says that it listens on port %d: %s.", p.what(), port, commandSaid(p.last.Evidence), saying(p.last.Evidence.Output), own, quoteAs(answer.RoleLog, logline.Message(line), kept)).
		fix(p.h.specFix(fmt.Sprintf("have the command in %sProbe.exec.command ask port %d, where container %s listens, or have the container listen on port %s, too", kindWord(p.kind), own, p.run.Container, port)))
}

// asksAddress is the port of the pod's own address that a command says it did not reach; "" for none.
func (p *probing) asksAddress() string {
	status, _ := p.h.Status(p.h.Policy)
	for _, word := range strings.FieldsFunc(p.last.Evidence.Output, func(r rune) bool { return strings.ContainsRune(" \t\n,;()[]'\"", r) }) {
		if host, port, ok := splitAddress(strings.TrimRight(word, ":.")); ok && host != "" && host == status.PodIP {
			return port
		}
	}
	return ""
}

// onlyLoopback: the command asks the pod's address, and the container takes connections over loopback alone.
func (p *probing) onlyLoopback(looked *fact.Fact, look fact.Looked, port string) *finding {
	there := listenersAt(p.mine(look.Listeners), port)
	if len(there) == 0 || slices.ContainsFunc(there, func(l fact.Listener) bool { return !loopback(hostIn(l.Address)) }) {
		return nil
	}
	return p.finds(answer.AppListensElse, strong, looked).
		says("Container %s listens on port %s only on loopback (%s), and the command of %s asks at the pod's address, where others ask, too: %s%s.",
			p.run.Container, port, listening(there), p.what(), commandSaid(p.last.Evidence), saying(p.last.Evidence.Output)).
		fix(p.listenFix(there[0].Command, port))
}

// listenFix has a server that listens on loopback alone listen on all addresses: by the setting that its program has for
// that, where its command or its ConfigMap has it.
func (p *probing) listenFix(program, port string) answer.Fix {
	text := "have it listen on all addresses (0.0.0.0 or ::) on port " + port
	if option := listenOptions[program]; option != "" {
		text += ": " + strings.ReplaceAll(option, "PORT", port)
	}
	given := slices.Concat(p.of.Command, p.of.Args, prose.Each(settingsOf(p.of), func(s setting) string { return s.value }))
	if slices.ContainsFunc(given, toLoopback.MatchString) {
		return p.h.specFix(text)
	}
	return p.h.configFix(p.run.Container, text)
}

// toLoopback fits what names loopback.
var toLoopback = regexp.MustCompile(`\b127\.0\.0\.1\b|\blocalhost\b|::1\b`)

// listenOptions are the settings by which programs listen on all addresses, by the names of their processes.
var listenOptions = map[string]string{
	"postgres": "listen_addresses = '*'", "redis-server": "bind * -::* (or protected-mode no)", "mariadbd": "bind-address = 0.0.0.0", "mysqld": "bind-address = 0.0.0.0",
	"mosquitto": "a listener of its own (listener PORT)", "nginx": "listen PORT", "haproxy": "bind :PORT", "memcached": "-l 0.0.0.0", "etcd": "http://0.0.0.0:PORT as its listen URL",
	"gunicorn": "--bind 0.0.0.0:PORT", "uvicorn": "--host 0.0.0.0", "python3": "0.0.0.0 as the host of its server (--host, --bind, host=)", "node": "0.0.0.0 as the host of listen()",
	"ruby": "-b 0.0.0.0 (rails server), or bind tcp://0.0.0.0:PORT (Puma)", "puma": "bind tcp://0.0.0.0:PORT", "php": "php -S 0.0.0.0:PORT", "php-fpm": "listen = PORT",
	"java": "server.address=0.0.0.0 (Spring Boot), or address=\"0.0.0.0\" of the Connector (Tomcat)",
}

// probeSidecarAnswered: the failure was another container's answer.
func probeSidecarAnswered(p *probing) *finding {
	ev := p.last.Evidence
	proxy, how := p.otherListener()
	if proxy == "" && strings.Contains(strings.ToLower(ev.Header["Server"]), "envoy") {
		proxy, how = "a sidecar (envoy)", "its Server header says so"
	}
	if ev.Header[linkerdSays] != "" {
		proxy, how = "Linkerd's proxy", fmt.Sprintf("its header %s says so: %s", strings.ToLower(linkerdSays), prose.Brief(ev.Header[linkerdSays], 100))
	}
	if p.h.FromAPI && ev.Header == nil {
		return nil // kubelet does not tell who answered
	}
	if proxy == "" || !p.h.isSidecar(strings.TrimPrefix(proxy, "container ")) && p.complainsNow() {
		return nil
	}
	f := p.finds(answer.MeshSidecarAnswered, strong).
		says("The answer %d was not the application's: %s answers on port %d (%s), in place of container %s.", ev.Status, proxy, p.port(), how, p.run.Container).
		fix(p.h.logsFix(p.run))
	if name := strings.TrimPrefix(proxy, "container "); name != proxy { // it is the one that says no
		f.fixes = []answer.Fix{p.h.inspect("read what container "+name+" says", p.h.kubectl("logs %s -c %s --tail=20", p.h.Pod.Name, name))}
	}
	if len(p.of.Ports) > 0 {
		f.first(p.h.inside("ask the application itself", p.run.Container, shell.Linef("wget -S -O- http://127.0.0.1:%d/", p.of.Ports[0].ContainerPort)))
	}
	at, look, ok := p.look()
	if ok && p.appSilent(look) {
		f.cause, f.weight = answer.AppNotListening, certain
		f.notes = []answer.Note{{Cause: answer.MeshSidecarAnswered, Text: fmt.Sprintf("the %d is the answer of %s, which could not reach it", ev.Status, proxy), Facts: idsOf(f.chain)}}
		f.text = fmt.Sprintf("Container %s does not listen on any port that it declares; %s answered its %s probe with %d in its place.", p.run.Container, proxy, kindWord(p.kind), ev.Status)
	}
	if ok {
		f.chain = append(f.chain, link(at))
	}
	return f
}

// otherListener names the other container that serves the probed port, and how
// that is known.
func (p *probing) otherListener() (container, how string) {
	if _, look, ok := p.look(); ok {
		for _, l := range p.here(look) {
			switch owner := p.h.Owner(l.PID); {
			case owner == p.run.Container:
				return "", ""
			case owner != "":
				return "container " + owner, "its process listens there"
			case l.Other:
				return "another container of the pod", "its process " + prose.Brief(l.Command, 20) + " listens there"
			}
		}
	}
	if p.asksAnother() || p.h.Object == nil || p.of.Name == "" || declares(p.of, p.port()) {
		return "", ""
	}
	for i := range p.h.Object.Spec.Containers {
		c := &p.h.Object.Spec.Containers[i]
		if c.Name != p.run.Container && declares(c, p.port()) {
			return "container " + c.Name, "it declares that port"
		}
	}
	return "", ""
}

// appSilent says whether the look shows that the container declares ports, and
// nothing listens on any of them.
func (p *probing) appSilent(look fact.Looked) bool {
	return len(p.of.Ports) > 0 &&
		!slices.ContainsFunc(p.of.Ports, func(c v1.ContainerPort) bool {
			return len(listenersAt(look.Listeners, fmt.Sprint(c.ContainerPort))) > 0
		})
}

// programs are by which names the processes of servers run that sign their pages.
var programs = map[string][]string{"nginx": {"nginx", "openresty"}, "openresty": {"nginx", "openresty"}, "apache": {"apache", "httpd"}}

// signed is the server that signs the page of an error with which the attempts were answered,
// and whether the answer's Server header names another.
func (p *probing) signed() (by, signer string, other bool) {
	ev := p.last.Evidence
	if p.mode != answered || ev == nil {
		return "", "", false
	}
	by = logline.SignedBy(ev.Output)
	signer, _, _ = strings.Cut(strings.ToLower(by), "/")
	server := strings.ToLower(ev.Header["Server"])
	return by, signer, by != "" && server != "" && !strings.HasPrefix(server, signer)
}

// relayed is the server that signs such a page, where it is none of the pod's: by the Server
// header or by who listens on the port. Empty where it may be the pod's own.
func (p *probing) relayed() string {
	by, signer, other := p.signed()
	if by == "" || p.mesh.Mesh != "" {
		return ""
	}
	runs := func(l fact.Listener) bool {
		return slices.ContainsFunc(programs[signer], func(name string) bool { return strings.Contains(strings.ToLower(l.Command), name) })
	}
	_, look, seen := p.look()
	if !seen || slices.ContainsFunc(look.Listeners, runs) {
		return ""
	}
	here := p.here(look)
	if other || programs[signer] != nil && len(here) > 0 && !slices.ContainsFunc(here, func(l fact.Listener) bool { return l.Command == "" }) {
		return by
	}
	return ""
}

// asksTLS says whether the answer is that HTTPS is wanted, and nothing shows that it may be
// another's: another answer in this run, or a page that another server signs.
func (p *probing) asksTLS() bool {
	_, _, other := p.signed()
	return p.last.Evidence.Status == 400 && knowledge.WantsHTTPS.In(p.last.Evidence.Output) && !other && p.relayed() == "" && !p.answeredOtherwise()
}

// answeredOtherwise says whether the run's port has answered in this way of asking, and not
// that another is wanted.
func (p *probing) answeredOtherwise() bool {
	return slices.ContainsFunc(p.run.Probes, func(f *fact.Fact) bool {
		b := fact.Of[fact.Probed](f)
		return b.Probe == p.kind && b.Evidence != nil && b.Evidence.Status != 0 && !(b.Evidence.Status == 400 && knowledge.WantsHTTPS.In(b.Evidence.Output))
	})
}

// probeTableFull: the node could keep track of no more connections, and dropped the
// packets of new ones.
func probeTableFull(p *probing) *finding {
	for _, at := range slices.Backward(fact.All[fact.PacketsDropped](p.h.Node)) {
		if at.When().Before(p.from.Add(-p.period())) || at.When().After(p.until.Add(p.period())) {
			continue
		}
		return p.finds(answer.NetworkBlocked, certain, at).
			says("The node's table of connections was full (nf_conntrack_max), so the kernel dropped packets of new ones, and no connection of %s came about. Other pods of the node suffer from it too.", p.what()).
			fix(kubectl.OnNode("see how full it is, and raise the limit on the node", "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max"), kubectl.OnNode("see who opens that many", "conntrack -L 2>/dev/null | grep -oE 'src=[0-9.]+' | sort | uniq -c | sort -rn | head"))
	}
	return nil
}

// probeBlocked: packets are dropped or rejected on the way.
func probeBlocked(p *probing) *finding {
	f := p.finds(answer.NetworkBlocked, weak).says("Nothing comes back from port %d of the pod: %s.", p.port(), p.how())
	f.fixes = []answer.Fix{
		p.h.inspect("see which rules drop it", "nft list ruleset | grep -iE 'drop|reject'; iptables-save | grep -iE 'drop|reject'"),
		p.h.inside("ask from inside, past the network", p.run.Container, shell.Linef("wget -qO- -T 5 http://127.0.0.1:%d/", p.port())),
	}
	if errno := p.last.Evidence.Errno; errno == "EPERM" || errno == "EACCES" {
		f.weight = strong
	}
	if at, look, ok := p.look(); ok {
		here, connected := p.here(look), time.Duration(0)
		if ev := fact.Of[fact.Probed](p.failed[len(p.failed)-1]).Evidence; ev != nil {
			connected = ev.Connect // of the newest attempt, whatever came of that
		}
		switch {
		case p.mode == refused && !p.heldBefore(p.newestRefused()), connected > 0:
			return nil // it has come up since
		case len(here) > 0 && here[0].Backlog == 0:
			f.weight = strong
			f.chain = append(f.chain, link(at))
			f.text = fmt.Sprintf("Packets to port %d of the pod are dropped or refused on the way: %s listens there and has no connection waiting. Yet: %s.", p.port(), here[0].Address, p.how())
		case p.mode == refused:
			return nil
		}
	} else if p.mode == refused {
		return nil
	}
	return f
}

// newestRefused is the last of the attempts that was refused.
func (p *probing) newestRefused() *fact.Fact {
	refusal := func(f *fact.Fact) bool { _, m := p.read(fact.Of[fact.Probed](f)); return m == refused }
	return cmp.Or(lastThat(p.failed, refusal), p.failed[len(p.failed)-1])
}

// heldBefore says whether somebody is known to have listened on the port in this run
// before an attempt: an answer or a look tells.
func (p *probing) heldBefore(attempt *fact.Fact) bool {
	return len(p.before) > 0 || slices.ContainsFunc(p.run.Looks, func(f *fact.Fact) bool {
		return len(p.here(fact.Of[fact.Looked](f))) > 0 && f.Seen.Before(attempt.When())
	})
}

// speaksLasts is how long ago a hello may have been answered that tells of the attempts at
// hand: each run of a container is tried anew, and need not have been yet.
const speaksLasts = 10 * time.Minute

// speaks is the newest hello of this probe that was answered.
func (p *probing) speaks() (*fact.Fact, fact.AskedAgain) {
	for _, r := range slices.Backward(p.h.Runs(p.run.Container)) {
		for f, b := range newest[fact.AskedAgain](r.Decided().Again) {
			if b.Probe == p.kind && b.Speaks != "" && f.When().After(p.from.Add(-speaksLasts)) && !f.When().After(p.until.Add(p.period())) {
				return f, b
			}
		}
	}
	return nil, fact.AskedAgain{}
}

// probeSpeaksOtherwise: the port speaks another protocol, and was heard to.
func probeSpeaksOtherwise(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() || p.mesh.Mesh != "" {
		return nil
	}
	asGRPC := ev.Handler == fact.GRPC && ev.Timeout
	if p.mode != broken && p.mode != mismatch && !asGRPC {
		return nil
	}
	at, b := p.speaks()
	if at == nil {
		return nil
	}
	cause, spoken, does := answer.ProbeProtocol, "speaks "+prose.Brief(string(b.Speaks), 20), ""
	asHTTP2, overTLS := spokenWays(p.spec)
	switch b.Speaks {
	case fact.TLS:
		spoken, does = "speaks TLS", "a gRPC probe knows no TLS: probe with exec, with tcpSocket, or at a port without it"
		if !asGRPC {
			cause, does = answer.ProbeWrongScheme, "set "+p.field("scheme")+" to HTTPS"
		}
		if asHTTP2 {
			does = "remove " + p.field("protocol") + " and set " + p.field("scheme") + " to HTTPS, which finds out by itself whether HTTP/2 is spoken"
		}
	case fact.HTTP2:
		spoken = "speaks HTTP/2 from the first byte, as gRPC does"
		does = prose.Whether(overTLS, "remove "+p.field("mode")+": the port speaks gRPC without TLS", "if it is gRPC and has the health service, make it a grpc probe; or probe with tcpSocket, or at a port that speaks HTTP/1.1")
	case fact.Proxied:
		spoken = "wants the line of the PROXY protocol before each request, which a load balancer sends"
		does = "probe at a port without the PROXY protocol, or with tcpSocket"
	case fact.FastCGI:
		spoken = "speaks FastCGI, which a web server speaks with it (PHP-FPM does)"
		does = "probe with tcpSocket, or ask the web server in front of it; PHP-FPM's own ping.path is asked by FastCGI, too (exec: cgi-fcgi)"
	case fact.HTTP1:
		spoken = "speaks HTTP/1"
		does = prose.Whether(asHTTP2, "remove "+p.field("protocol")+": the port speaks HTTP/1", "make it an httpGet probe, or ask at the port that speaks gRPC")
	}
	f := p.finds(cause, certain, at).
		says("Port %d of container %s %s, and %s asks in %s: tried once in the other way, it was answered.", p.port(), p.run.Container, spoken, p.what(), asksIn(asGRPC, asHTTP2, overTLS))
	if does != "" {
		f.fix(p.h.specFix(does))
	}
	return f
}

func asksIn(asGRPC, asHTTP2, overTLS bool) string {
	switch {
	case asGRPC && overTLS:
		return "gRPC over TLS"
	case asGRPC:
		return "gRPC without TLS"
	case asHTTP2:
		return "HTTP/2 without TLS"
	}
	return "plain HTTP"
}

// spokenWays returns what the probe speaks beside the default: HTTP/2 without TLS, or
// gRPC over TLS (gates H2CContainerProbe and GRPCContainerProbeTLS of Kubernetes 1.37).
func spokenWays(spec *v1.Probe) (asHTTP2, overTLS bool) {
	if spec == nil {
		return false, false
	}
	asHTTP2 = spec.HTTPGet != nil && spec.HTTPGet.Protocol != nil && *spec.HTTPGet.Protocol == v1.HTTPProtocolHTTP2
	overTLS = spec.GRPC != nil && spec.GRPC.Mode != nil && *spec.GRPC.Mode == v1.GRPCProbeModeTLS
	return asHTTP2, overTLS
}

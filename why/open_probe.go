package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// open is the verdict that leaves the cause open: how the attempts failed, what the container says of that, and what to look
// at and to do then.
func (p *probing) open(rest []finding) answer.Verdict {
	f := finding{text: prose.Upper(p.what()) + " failed: " + p.howKnown() + ".", fixes: append(p.openSteps(), p.h.logsFix(p.run))}
	for _, r := range rest {
		if i := slices.IndexFunc(r.fixes, f.fixes[0].SameCommand); i >= 0 && r.weight > refuted && !changes(r.fixes[i]) && !changes(f.fixes[0]) {
			f.fixes[0] = r.fixes[i] // it says more
		}
	}
	if p.mode == refused && !p.worked() {
		if port, line := p.otherPort(); port > 0 {
			f.because = append(f.because, fmt.Sprintf("Its log says that it listens on port %d: %s.", port, quoteAs(answer.RoleNoted, logline.Message(line), quoted)))
		}
	}
	if p.mode == answered && proxyAnswers[p.last.Evidence.Status] != "" {
		f.because = append(f.because, proxyAnswers[p.last.Evidence.Status])
	}
	if at, _ := p.complaint(); at != nil || p.mode == answered || p.mode == exitCode || p.mode == broken {
		p.quoteInto(&f)
	}
	v := undecided(p.run.Container, f.text, p.chain(), append(rest, p.unseen()...), p.missing(), f.fixes...)
	v.SayBecause(f.because...)
	v.Probe = p.kind
	return v
}

// proxyAnswers are what statuses say by which a proxy reports the server behind it (RFC 9110, 15.6).
var proxyAnswers = map[int]string{
	502: "Status 502 means that a proxy got no valid answer from the server behind it.",
	504: "Status 504 means that a proxy got no answer in time from the server behind it.",
}

// openSteps returns the steps for a probe whose failure is left open: a look, and what to do for each thing that it may show.
func (p *probing) openSteps() []answer.Fix {
	switch p.mode {
	case refused:
		return p.openRefused()
	case silent:
		return p.openSilent()
	case answered:
		return p.openAnswered()
	case broken:
		return p.openBroken()
	case exitCode:
		return []answer.Fix{
			p.byHand("run the probe's command by hand, and read what it prints"),
			editConfig(p.h, counsel{Step: knowledge.Step{Text: "if it prints an error of the server (it refuses, is not ready, wants a login): correct the server's settings"}, container: p.run.Container}),
			p.h.specFix(fmt.Sprintf("if the command itself is wrong (a port, a path, a password, a word that it looks for): correct %sProbe.exec.command of container %s", kindWord(p.kind), p.run.Container)),
		}
	case commandLate:
		return []answer.Fix{timed(p.byHand("see how long the probe's command takes")), p.moreTime("if it succeeds after a longer time"), p.askedFix("if it does not end at all")}
	}
	return p.h.probeFixes(p)
}

// moreTime raises the timeout of the probe.
func (p *probing) moreTime(when string) answer.Fix {
	text := fmt.Sprintf("%s: raise %s of container %s (now %d) above that time", when, p.field("timeoutSeconds"), p.run.Container, prose.Seconds(p.timeout()))
	if limit := p.of.Resources.Limits.Cpu(); !limit.IsZero() {
		text += fmt.Sprintf("; also raise its CPU limit (now %s), if `kubectl top pod` shows that it is used up", limit)
	}
	return p.h.specFix(text)
}

// askedFix is what to do where the container waits for another program, or is let down by it. Package ask puts the Services
// in that its configuration names.
func (p *probing) askedFix(when string) answer.Fix {
	return p.h.inspect(when+": see what else is unhealthy in the namespace, and mend that first; if nothing is, restart the pod", p.h.kubectl("why --all")).
		As(answer.StepMendAsked, answer.Slots{answer.SlotWhen: when})
}

// sockets shows the ports on which the pod listens, also where its image has no tool for that.
func (p *probing) sockets(text string, port int) answer.Fix {
	if port > 0 {
		text += fmt.Sprintf(" (in /proc/net/tcp, %d is %04X and 0A means that it listens)", port, port)
	}
	return p.h.inside(text, p.run.Container, kubectl.Sockets)
}

// mayStart reports whether a probe ended the run, which was never well, and nothing in its log shows that it had started.
func (p *probing) mayStart() bool {
	if p.kind == fact.Readiness || p.worked() || p.run.Started == nil || len(p.failed) == 0 {
		return false
	}
	lines := p.ownLines()
	return words.LastOf(lines, knowledge.SaysReady) < 0 && !slices.ContainsFunc(lines, func(l string) bool {
		n, _ := words.ListensOn(l)
		return n != 0 || logline.IsRequest(l)
	})
}

// ownLines are what is kept of the log of the run.
func (p *probing) ownLines() []string {
	at, lines := p.run.Said(p.run.Started.When())
	if at == nil && p.run.Exit != nil {
		return fact.Of[fact.Exited](p.run.Exit).LastLines
	}
	return lines
}

// startFix gives a container more time to start.
func (p *probing) startFix() answer.Fix {
	when := "if its log breaks off during startup: "
	if s := p.of.StartupProbe; s != nil {
		return p.h.specFix(fmt.Sprintf("%sraise startupProbe.failureThreshold of container %s (now %d) to twice that", when, p.run.Container, s.FailureThreshold))
	}
	given := p.until.Sub(p.run.Started.When())
	return p.h.specFix(fmt.Sprintf("%sgive container %s a startupProbe that allows more than %s, as with periodSeconds: 10 and failureThreshold: %d",
		when, p.run.Container, prose.Span(given), max(3, prose.Seconds(needs(given, ""))/10)))
}

// otherPort is the first port, other than the probed one, on which the container logs that it listens.
func (p *probing) otherPort() (port int, line string) {
	if p.run.Started == nil {
		return 0, ""
	}
	for _, l := range p.ownLines() {
		switch n, _ := words.ListensOn(l); {
		case n != 0 && n == p.port():
			return 0, ""
		case n != 0 && port == 0:
			port, line = n, l
		}
	}
	return port, line
}

// openRefused are the steps where nothing takes the connection.
func (p *probing) openRefused() []answer.Fix {
	if p.worked() {
		return []answer.Fix{
			p.sockets(fmt.Sprintf("see whether it still listens on port %d", p.port()), p.port()),
			restart(p.h, counsel{Step: knowledge.Step{Text: fmt.Sprintf("if it does not: the process that served port %d has ended while the main process runs on; restart the pod, and have that process be the main one (exec it last in the start script)", p.port())}}),
			p.h.specFix("if it does: look for a NetworkPolicy or a firewall between the node and the pod"),
		}
	}
	steps := []answer.Fix{p.sockets("see which ports it listens on", p.port())}
	if p.mayStart() {
		steps = append(steps, p.startFix())
	}
	field := fmt.Sprintf("%s of container %s (now %d)", p.field("port"), p.run.Container, p.port())
	elsewhere := fmt.Sprintf("if it listens on another port: set %s to that one; if on 127.0.0.1 alone: have it listen on 0.0.0.0", field)
	if port, _ := p.otherPort(); port > 0 {
		elsewhere = fmt.Sprintf("if it listens on port %d alone: set %s to %d, or have it listen on port %d, too; if on 127.0.0.1 alone: have it listen on 0.0.0.0", port, field, port, p.port())
	}
	return append(steps, p.h.specFix(elsewhere),
		editConfig(p.h, counsel{Step: knowledge.Step{Text: fmt.Sprintf("if on port %d of all addresses: look for a NetworkPolicy or a firewall in between; if on no port: correct what stops it from starting (see the last lines of its log)", p.port())}, container: p.run.Container}))
}

// request makes the probe's HTTP request from inside, and prints the answer also where that is an error.
func (p *probing) request(text string) (answer.Fix, bool) {
	if ev := p.last.Evidence; ev.Handler != fact.HTTPGet || p.asksAnother() {
		return answer.Fix{}, false
	}
	url := p.last.Evidence.Target
	if get := p.spec; !strings.Contains(url, "://") {
		if get == nil || get.HTTPGet == nil || p.portOfSpec() == 0 {
			return answer.Fix{}, false
		}
		url = fmt.Sprintf("%s://127.0.0.1:%d%s", prose.Whether(get.HTTPGet.Scheme == v1.URISchemeHTTPS, "https", "http"), p.portOfSpec(), get.HTTPGet.Path)
	}
	url = prose.Brief(url, 200)
	return p.h.inside(text, p.run.Container, shell.Linef("sh -c %s", string(shell.Linef("curl -iksS -m 30 %s || wget -S -O- -T 30 %s", url, url)))), true
}

// openSilent are the steps where no answer comes in time.
func (p *probing) openSilent() []answer.Fix {
	late := p.moreTime("if the answer comes, and is right")
	look, ok := p.request("ask the same from inside, with 30 s of time")
	switch ev := p.last.Evidence; {
	case ok && p.mayStart():
		return []answer.Fix{timed(look), p.startFix(), late, p.askedFix("if no answer comes")}
	case ok:
		return []answer.Fix{timed(look), late, p.askedFix("if no answer comes")}
	case ev.Handler == fact.GRPC:
		return []answer.Fix{
			p.sockets("see whether it listens", p.port()),
			p.h.specFix(fmt.Sprintf("if port %d speaks HTTP and not gRPC, or gRPC with TLS: probe it by httpGet or tcpSocket", p.port())), late, p.askedFix("if it speaks gRPC"),
		}
	}
	return p.h.probeFixes(p)
}

// openBroken are the steps where the connection breaks off before an answer.
func (p *probing) openBroken() []answer.Fix {
	look, ok := p.request("ask the same from inside")
	if !ok {
		return p.h.probeFixes(p)
	}
	return []answer.Fix{
		look,
		p.h.specFix(fmt.Sprintf("if that breaks off as well, and port %d is not meant for plain HTTP (TLS, HTTP/2, FastCGI, PROXY protocol): probe it by tcpSocket, or probe another port", p.port())),
		editConfig(p.h, counsel{Step: knowledge.Step{Text: "if it is: its process fails at the request; correct what its log shows at that moment"}, container: p.run.Container}),
	}
}

// openAnswered returns the steps for a failing HTTP status whose origin is unknown.
func (p *probing) openAnswered() []answer.Fix {
	look, ok := p.request("read the whole answer, which usually says what fails")
	if !ok {
		return p.h.probeFixes(p)
	}
	if own := slices.DeleteFunc(p.h.probeFixes(p), func(f answer.Fix) bool { return !changes(f) }); len(own) > 0 {
		return append([]answer.Fix{look}, own...)
	}
	_, said := p.complaint()
	if _, at, ok := words.Unreached(said); ok && at != "" {
		return p.openUpstream(at)
	}
	asked := p.askedFix("if it names another program, or a proxy answers for it")
	itself := editConfig(p.h, counsel{Step: knowledge.Step{Text: "if it names something of the container itself (a setting, a file): correct that"}, container: p.run.Container})
	path := fmt.Sprintf("%s of container %s", p.field("path"), p.run.Container)
	switch status := p.last.Evidence.Status; {
	case status >= 500:
		return []answer.Fix{look, asked, itself, p.h.specFix(fmt.Sprintf("if the pod can do its work without that program: set %s to one that does not test it", path))}
	case status == 404 || status == 405 || status == 410:
		return []answer.Fix{look, p.h.specFix(fmt.Sprintf("if another path works (try it in the same way): set %s to that", path)), itself}
	case said != "":
		return []answer.Fix{look, itself, p.h.specFix(fmt.Sprintf("if it names the request (its path, its query or a header): correct %s", path))}
	case status == 400 || status == 421:
		return []answer.Fix{look, p.h.specFix(fmt.Sprintf("if it mentions TLS or HTTPS: set %s: HTTPS; if it mentions the host: send the name that it accepts, as %s: [{name: Host, value: NAME}]", p.field("scheme"), p.field("httpHeaders"))), itself}
	}
	return []answer.Fix{look, itself, asked}
}

// openUpstream are the steps where the log names the server that the container did not reach.
func (p *probing) openUpstream(at string) []answer.Fix {
	host, port, _ := splitAddress(at)
	if !loopback(host) {
		return []answer.Fix{p.askedFix(fmt.Sprintf("since %s does not answer", at)), p.h.addressFix(p.run.Container, at, fmt.Sprintf("if the address %s is wrong: correct it where container %s is configured", at, p.run.Container))}
	}
	n, _ := strconv.Atoi(port)
	return []answer.Fix{
		p.sockets(fmt.Sprintf("see whether a container of the pod listens on port %s", port), n),
		editConfig(p.h, counsel{Step: knowledge.Step{Text: fmt.Sprintf("if it listens on another port: correct %s, or that port", at)}, container: p.run.Container}),
		p.h.inspect("if nothing listens there: read why its server does not, and correct that", p.h.kubectl("logs %s --all-containers --prefix --tail=%d", p.h.Pod.Name, lastLines)),
	}
}

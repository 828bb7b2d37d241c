package why

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
)

// ownPort fits a port of loopback, as a command asks it.
var ownPort = regexp.MustCompile(`(?:\blocalhost|\b127(?:\.\d{1,3}){3}|\[::1\])(?::|[ ,]+(?:-p |--?port[= ])?)(\d{1,5})\b`)

// asksOwnPort is the only port of loopback that a probe's command, or what it puts out, has.
func (p *probing) asksOwnPort() (port string, ok bool) {
	for _, text := range []string{p.last.Evidence.Output, strings.Join(p.argv(), " ")} {
		for _, m := range ownPort.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || n == 0 || n > 65535 || port != "" && port != m[1] {
				return "", false
			}
			port = m[1]
		}
	}
	return port, port != ""
}

// probeCommandElsewhere: the command asks the container itself, at a port that it does not have.
func probeCommandElsewhere(p *probing) *finding {
	if p.mode != exitCode || p.worked() || p.last.Evidence == nil || !knowledge.Any(p.last.Evidence.Output, knowledge.ConnectionRefused, knowledge.NoResponse) {
		return nil
	}
	looked, look, seen := p.look()
	if port := p.asksAddress(); seen && port != "" {
		return p.onlyLoopback(looked, look, port)
	}
	port, ok := p.asksOwnPort()
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
		fix(p.listenFix(there[0]))
}

// listenFix is what to do where a server listens on loopback alone.
func (p *probing) listenFix(l fact.Listener) answer.Fix {
	how := "the application listen on all addresses (0.0.0.0 or ::)"
	if option := listenOptions[l.Command]; option != "" {
		how = "it listen on all addresses: " + option
	}
	return p.h.specFix("have " + how + p.h.ofItsConfiguration(p.run.Container))
}

// listenOptions are the settings of servers that listen on loopback alone where nothing else is set.
var listenOptions = map[string]string{
	"postgres": "listen_addresses = '*'", "redis-server": "bind * -::* (or protected-mode no)", "mariadbd": "bind-address = 0.0.0.0", "mysqld": "bind-address = 0.0.0.0",
	"mosquitto": "a listener with a port of its own (listener 1883)",
}

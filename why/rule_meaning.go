package why

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// meaning is what well-known words stand for, for people who see them for the first
// time. They change no cause: the process ended, or says no, because of them by itself.
type meaning struct {
	said *words.Phrase
	text string
	fix  func(h *inquiry, container, said string) answer.Fix
}

func changing(text string) func(*inquiry, string, string) answer.Fix {
	return func(h *inquiry, _, _ string) answer.Fix { return h.specFix(text) }
}

// settingNamed fits the name of a setting that words miss, in quotes.
var settingNamed = regexp.MustCompile(`(?i)\b(?:value|setting|option|property|key)s? (?:at |for )?['"]([\w.\[\]-]{3,})['"]`)

// giveSetting is what to do about a setting that is missing, by its name where the words have it.
func giveSetting(h *inquiry, _, said string) answer.Fix {
	name := ""
	if m := settingNamed.FindStringSubmatch(said); m != nil {
		name = ", " + m[1]
	}
	return h.specFix(fmt.Sprintf("give it that setting%s: in the container's env, its arguments or its configuration", name))
}

// configuring is like changing, of what stands in a file: where all that configures the container is one
// ConfigMap, that one is it.
func configuring(text string) func(*inquiry, string, string) answer.Fix {
	return func(h *inquiry, container, _ string) answer.Fix {
		name := h.onlyConfigMap(container)
		if name == "" {
			return h.specFix(text)
		}
		return answer.Fix{Text: text + ", in ConfigMap " + name, Command: h.kubectl("edit configmap %s", name), Risk: answer.Restarts}
	}
}

// onlyConfigMap is the one ConfigMap from which a container has its files and variables; empty where
// there is none, or more of them.
func (h *inquiry) onlyConfigMap(container string) (name string) {
	c := h.Spec(container)
	if c == nil {
		return ""
	}
	for _, s := range h.sources(c) {
		switch {
		case s.kind != "ConfigMap", s.name == name:
		case name != "":
			return ""
		default:
			name = s.name
		}
	}
	return name
}

// atDatabase is a change of what the container may only ask: nobody knows where that is.
func atDatabase(text string) func(*inquiry, string, string) answer.Fix {
	return func(*inquiry, string, string) answer.Fix { return answer.Fix{Text: text, Risk: answer.Restarts} }
}

// guest fits the address of a broker of another host with the user that RabbitMQ has from its start.
var guest = regexp.MustCompile(`\bamqps?://guest:[^@\s]*@(?:[a-km-z]|l[^o]|\d)`)

// valuesOf are the values that a container's spec gives its program, in one text.
func (h *inquiry) valuesOf(container string) string {
	c := h.Spec(container)
	if c == nil {
		return ""
	}
	all := append(slices.Clone(c.Command), c.Args...)
	for _, e := range c.Env {
		all = append(all, e.Value)
	}
	return strings.Join(all, "\n")
}

// credentials names the Secrets from which a container has them, as far as its variables tell.
func credentials(h *inquiry, container, said string) answer.Fix {
	text := "compare the user and password that it is given with those that the server has, and change either (a Secret's value and its line end, or in the server: ALTER ROLE … PASSWORD, ALTER USER … IDENTIFIED BY, rabbitmqctl change_password)"
	switch {
	case words.CacheUser.In(said):
		text = "give who asks memcached the user and password of its file (a probe that asks, too), or run memcached without -Y (or -S)"
	case words.BrokerUser.In(said):
		text = "give the client a user and password that the broker knows (Mosquitto: a line of its password_file; mosquitto_passwd -U hashes plain ones there, once: a file hashed twice lets nobody in), or have the broker let in who has none (allow_anonymous true)"
	}
	if guest.MatchString(h.valuesOf(container)) && words.Has(said, "ACCESS_REFUSED") {
		return answer.Fix{Text: "RabbitMQ lets user guest in from its own host alone: make another user there (rabbitmqctl add_user and set_permissions, or RABBITMQ_DEFAULT_USER), and give that one to the container", Risk: answer.Restarts}
	}
	var from []string
	var secret string
	if c := h.Spec(container); c != nil {
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil {
				from, secret = append(from, "its variables are of Secret "+e.SecretRef.Name), e.SecretRef.Name
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
				continue
			}
			ref := e.ValueFrom.SecretKeyRef
			from = append(from, fmt.Sprintf("%s is %s of Secret %s", e.Name, ref.Key, ref.Name))
			if secret == "" {
				secret = ref.Name
			} else if secret != ref.Name {
				return h.specFix(text)
			}
		}
	}
	if secret == "" {
		return h.specFix(text)
	}
	return answer.Fix{Text: text + ": " + strings.Join(from, ", "), Risk: answer.Restarts, Command: h.kubectl("edit secret %s   # then start the pod again", secret)}
}

// showing is a command to look with.
func showing(text, command string) func(*inquiry, string, string) answer.Fix {
	return func(h *inquiry, _, _ string) answer.Fix { return h.inspect(text, command) }
}

// certificateDates shows them from a pod of its own: few images have openssl.
func certificateDates(h *inquiry, _, said string) answer.Fix {
	host, port, ok := splitAddress(words.Place(said))
	if !ok {
		host, port = cmp.Or(words.Place(said), "HOST"), "443"
	}
	return h.inspect("see the dates of the certificate (NotAfter), and renew it where it is served",
		h.kubectl("run tls-test --rm -i --restart=Never --image=alpine/openssl -- s_client -connect %s:%s -servername %s", host, port, host))
}

// leftBehind names the file that an earlier run left.
func leftBehind(h *inquiry, _, said string) answer.Fix {
	file := cmp.Or(firstOf(words.LeftBehind.Find(said)...), "that file")
	return h.specFix(fmt.Sprintf("have the start remove %s, or give it a place that does not outlive the container, or none; only one pod may use it", file))
}

// memberAgain has a member join anew whose data are gone, and keep them from then on: a volume that is
// its only place for them, and goes with its pod, is named.
func memberAgain(h *inquiry, container, _ string) answer.Fix {
	text := "take its old entry from the others' list and let it join as a new one (etcd: etcdctl member remove and member add, then --initial-cluster-state=existing; Cassandra: -Dcassandra.replace_address_first_boot)"
	var goes []string
	for _, m := range volumeMounts(h.Spec(container)) {
		switch _, v := h.volumeOf(container, path.Clean(m.MountPath)); {
		case v == nil:
		case v.EmptyDir != nil:
			goes = append(goes, v.Name)
		case v.PersistentVolumeClaim != nil:
			return h.specFix(text)
		}
	}
	if len(goes) == 1 {
		text += fmt.Sprintf("; and have volume %s outlive the pod: an emptyDir goes with it (volumeClaimTemplates)", goes[0])
	}
	return h.specFix(text)
}

// mayDo has a service account be let do what its words say that it may not.
func mayDo(h *inquiry, _, said string) answer.Fix {
	m := words.NotAllowed.Find(said)
	space, account, verb, resource, group, in := m[0], m[1], m[2], m[3], m[4], m[5]
	if group != "" {
		resource += "." + group
	}
	kind, scope := "role", ""
	if in == "" {
		kind = "clusterrole"
	} else {
		scope = fmt.Sprintf("-n %s ", in)
	}
	name := account + "-" + verb
	return answer.Fix{
		Text:    fmt.Sprintf("let service account %s/%s %s %s, if it is to: here, or among what the program's own manifests give it", space, account, verb, resource),
		Command: fmt.Sprintf("kubectl %screate %s %s --verb=%s --resource=%s && kubectl %screate %sbinding %s --%s=%s --serviceaccount=%s:%s", scope, kind, name, verb, resource, scope, kind, name, kind, name, space, account),
		Risk:    answer.Safe,
	}
}

// repair is what to do about data that are damaged, by the volume that has them where there is one.
func repair(h *inquiry, container, _ string) answer.Fix {
	where, rest := "its data", "restore a backup"
	var kept []string
	for _, m := range volumeMounts(h.Spec(container)) {
		switch _, v := h.volumeOf(container, path.Clean(m.MountPath)); {
		case v == nil || m.ReadOnly:
		case v.PersistentVolumeClaim != nil:
			kept = append(kept, fmt.Sprintf("volume %s (claim %s)", v.Name, v.PersistentVolumeClaim.ClaimName))
		case v.EmptyDir != nil || v.HostPath != nil:
			kept = append(kept, "volume "+v.Name)
		}
	}
	if len(kept) == 1 {
		where += " of " + kept[0]
	}
	return answer.Fix{Text: fmt.Sprintf("see first whether each of its volumes is the one that it had; if so, make a copy of %s, then repair them with the program's own tool, or %s", where, rest), Risk: answer.Destructive}
}

// mayNotWrite names the volumes that the spec does not let the container write to, where
// that is what it complains of.
func (e ending) mayNotWrite(f *finding) {
	if e.spec == nil || e.said(words.ReadOnly.In) == "" {
		return
	}
	for _, m := range e.spec.VolumeMounts {
		if m.ReadOnly {
			f.because = append(f.because, fmt.Sprintf("Its volume %s (at %s) is mounted readOnly.", m.Name, m.MountPath))
			f.fixes = append(f.fixes, e.h.specFix(fmt.Sprintf("mount volume %s without readOnly, or have it write elsewhere", m.Name)))
		}
	}
}

// passedOn fits words that a server has from one behind it.
var passedOn = regexp.MustCompile(`(?i)\bfastcgi\b|\bupstream\b|\bsaid into std`)

// lostSetting adds to a finding whose words miss a variable that the spec has it, where it does: for
// the container that says so, or, where it passes on what another says, for any.
func (h *inquiry) lostSetting(f *finding, container, said string) bool {
	if h.Object == nil {
		return false
	}
	for _, c := range h.Object.Spec.Containers {
		if c.Name != container && !passedOn.MatchString(said) {
			continue
		}
		for _, e := range c.Env {
			if len(e.Name) < 3 || e.Value == "" || !regexp.MustCompile(`\b`+regexp.QuoteMeta(e.Name)+`\b`).MatchString(said) {
				continue
			}
			f.because = append(f.because, fmt.Sprintf("Variable %s is in the env of container %s, and does not reach the process that wants it.", e.Name, c.Name))
			f.fixes = append([]answer.Fix{h.inspect(
				"see which of its processes have it: a start script may drop it, and a server give its workers an environment of their own (clear_env of php-fpm, env of nginx)",
				h.exec(c.Name, fmt.Sprintf("sh -c 'grep -lz ^%s= /proc/[0-9]*/environ'", e.Name)),
			)}, f.fixes...)
			return true
		}
	}
	return false
}

// meant adds the meaning of a container's words to a finding that quotes them.
func (h *inquiry) meant(f *finding, container, said string) bool {
	h.throughProxy(f, container, said)
	for _, m := range meanings {
		if m.said.In(said) {
			f.because = append(f.because, fmt.Sprintf("That means: %s.", m.text))
			if m.said == words.SettingMissing && h.lostSetting(f, container, said) {
				return true
			}
			if m.fix != nil { // the file itself is named elsewhere
				f.fixes = append([]answer.Fix{m.fix(h, container, said)}, f.fixes...)
			}
			return true
		}
	}
	return false
}

// meant adds the meaning of a process's last words, or else of its code.
func (e ending) meant(f *finding, said string) {
	all := e.inItsWords()
	if i := slices.IndexFunc(meanings, func(m meaning) bool { return m.said.In(said) }); i < 0 || meanings[i].said == words.BadConfig {
		said = cmp.Or(all, said) // what it said just before has one, or one that says more than a place, maybe
	}
	if e.h.meant(f, e.run.Container, said) {
		return
	}
	code := e.exit.ExitCode
	switch {
	case words.NodeCodes[code] != "" && (e.mainCommand() == "node" || e.spec != nil && len(e.spec.Command) > 0 && path.Base(e.spec.Command[0]) == "node"):
		f.because = append(f.because, prose.Upper("exit code "+words.NodeCodes[code])+".")
	case words.ShellCodes[code] != "":
		f.because = append(f.because, prose.Upper("exit code "+words.ShellCodes[code])+".")
		f.fixes = append([]answer.Fix{e.h.specFix("correct the command in its start script, or use an image that has it")}, f.fixes...)
	case code > 128 && fact.SignalNames[code-128] != "" && e.exit.StatusKnown:
		f.because = append(f.because, fmt.Sprintf("By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128)))
	}
}

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

// atDatabase is a change of what the container may only ask: nobody knows where that is.
func atDatabase(text string) func(*inquiry, string, string) answer.Fix {
	return func(*inquiry, string, string) answer.Fix { return answer.Fix{Text: text, Risk: answer.Restarts} }
}

// credentials names the Secrets from which a container has them, as far as its variables tell.
func credentials(h *inquiry, container, _ string) answer.Fix {
	const text = "correct the user or password that it is given (a Secret's value, and its line end)"
	var from []string
	var secret string
	if c := h.Spec(container); c != nil {
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

// meanings are in the words of OpenSSL, Go, Java, Node, Python, glibc, musl, and of
// databases and their clients. The first that fits counts.
var meanings = []meaning{
	{
		words.CertificateExpired,
		"a TLS certificate has expired, or the clock is wrong",
		certificateDates,
	},
	{
		words.CertificateUnknown,
		"it does not trust whoever signed a TLS certificate",
		changing("give it the certificate authority that signed it (ca-certificates in the image, or a mounted bundle)"),
	},
	{
		words.StillMember,
		"the others of its cluster know it as a member, and it has no data of one: they are gone, or it was given another volume",
		memberAgain,
	},
	{
		words.WatchesFull,
		"the node lets its user watch no more files (fs.inotify.max_user_watches, counted over all containers of that user)",
		showing("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_watches   # on the node"),
	},
	{
		words.Credentials,
		"its credentials were refused",
		credentials,
	},
	{
		words.Locked,
		"another process holds the lock on its data, of this pod, of another with the same volume, or of the run before that has not ended yet",
		changing("let one pod at a time use that volume (strategy Recreate, or a StatefulSet with a volume for each), and see that the one before has ended"),
	},
	{
		words.LeftBehind,
		"it takes a file that an earlier run left for the sign of another that runs, and does not start beside it",
		leftBehind,
	},
	{
		words.TakesNoWrites,
		"the database is there and takes no writes: it is a replica, or was set read-only, as after a failover",
		atDatabase("have who writes ask the primary, or let the database that it asks take writes again"),
	},
	{
		words.QuotaReached,
		"the database takes no more because a limit of its own is reached, whatever room the disk and the node have",
		atDatabase("in that database, delete what is not needed, or raise its limit (Redis: maxmemory or its policy; etcd: compact and defragment it, then etcdctl alarm disarm, or --quota-backend-bytes)"),
	},
	{
		words.PoolTaken,
		"all connections of its own pool are taken, and none is given back in time",
		changing("have every request give its connection back, also after an error; make the pool larger only if the database allows it"),
	},
	{
		words.OthersMay,
		"others than its owner may read or write a file, and the program does not take it then",
		changing("give the file the mode that it wants (0600 mostly): defaultMode of a Secret's or ConfigMap's volume, chmod on another; a pod's fsGroup gives the group rights to all files of its volumes"),
	},
	{
		words.Libraries,
		"the image lacks a library that the program loads, or has an older one",
		changing("add the library's package to the image, or build it on the same distribution as the program; an extension that is not needed can leave the configuration"),
	},
	{
		words.ModuleMissing,
		"a part of the program is missing in the image, or is made for another version of its runtime",
		changing("build the image again with all its dependencies, for the version of the runtime that it has"),
	},
	{
		words.NewerData,
		"its data were written by another version of it than the one that the image has",
		changing("use the version that wrote them, or follow its way of upgrading or downgrading; do not delete them before there is a copy"),
	},
	{
		words.SettingMissing,
		"it is not given a setting that it needs",
		changing("give it that setting: in the container's env, its arguments or its configuration"),
	},
	{
		words.BadConfig,
		"it does not take its configuration, at the line that it names",
		nil,
	},
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
	if all := e.inItsWords(); !slices.ContainsFunc(meanings, func(m meaning) bool { return m.said.In(said) }) {
		said = cmp.Or(all, said) // what it said just before has one, maybe
	}
	if e.h.meant(f, e.run.Container, said) {
		return
	}
	code := e.exit.ExitCode
	switch {
	case words.ShellCodes[code] != "":
		f.because = append(f.because, prose.Upper("exit code "+words.ShellCodes[code])+".")
		f.fixes = append([]answer.Fix{e.h.specFix("correct the command in its start script, or use an image that has it")}, f.fixes...)
	case code > 128 && fact.SignalNames[code-128] != "" && e.exit.StatusKnown:
		f.because = append(f.because, fmt.Sprintf("By a shell's convention that stands for a child that died of %s; the main process itself died of no signal, by the kernel's word.", signalName(code-128)))
	}
}

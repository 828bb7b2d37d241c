package why

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/mounts"
	"whylet.dev/whylet/why/words"
)

// counsel is one step of a message that a container printed, with its slots filled in.
type counsel struct {
	knowledge.Step
	container, said string
	slots           map[string]string
}

// verbs carry out the steps of messages for a pod, by the names of [knowledge.Verbs].
var verbs = map[string]func(h *inquiry, c counsel) answer.Fix{
	"change-spec":           func(h *inquiry, c counsel) answer.Fix { return h.specFix(c.Text) },
	"change-program":        elsewhereFix,
	"restart":               restart,
	"edit-config":           editConfig,
	"at-database":           elsewhereFix,
	"inspect":               look,
	"run":                   run,
	"compare-credentials":   compareCredentials,
	"check-certificate":     checkCertificate,
	"give-setting":          giveSetting,
	"rejoin-cluster":        rejoinCluster,
	"repair-data":           repairData,
	"replace-mounted-file":  replaceMountedFile,
	"add-module":            addModule,
	"create-database":       createDatabase,
	"add-hba-line":          addHBALine,
	"allow-service-account": allowServiceAccount,
}

// advice returns what to do about a message that a container printed.
func (h *inquiry) advice(f *finding, container, said string, m knowledge.Hit) (fixes []answer.Fix) {
	slots := maps.Clone(m.Slots)
	slots["pod"], slots["namespace"], slots["container"] = h.Pod.Name, h.Pod.Namespace, container
	for _, s := range m.Steps {
		if slot, without := strings.CutPrefix(s.When, "!"); s.When != "" && (slots[slot] != "") == without {
			continue
		}
		if s.Do == "give-setting" && h.lostSetting(f, container, said) {
			continue // it is given, and does not reach the process
		}
		s.Text, s.Command = knowledge.Fill(s.Text, slots), knowledge.FillCommand(s.Command, slots)
		if s.Kubectl != "" {
			s.Command = h.kubectl("%s", shell.Line(knowledge.FillCommand(s.Kubectl, slots)))
		}
		fix := verbs[s.Do](h, counsel{Step: s, container: container, said: said, slots: m.Slots})
		fix.Risk = answer.Risk(cmp.Or(s.Risk, string(fix.Risk)))
		switch m.ID {
		case knowledge.NotFromThere.ID():
			fix.ID = answer.StepAddEntry
		case knowledge.ServiceLink.ID():
			fix.ID = answer.StepNoLinks
		}
		fixes = append(fixes, fix.About(words.Variables(s.Text)...))
	}
	return fixes
}

// look runs a command that changes nothing, on the node where the command says so.
func look(h *inquiry, c counsel) answer.Fix {
	if command, onNode := strings.CutSuffix(c.Command, "   # on the node"); onNode {
		return kubectl.OnNode(c.Text, shell.Line(command))
	}
	return h.inspect(c.Text, c.Command)
}

// run runs a command that changes something, on the node where the command says so.
func run(h *inquiry, c counsel) answer.Fix {
	f := look(h, c)
	f.Risk = answer.Restarts
	return f
}

func restart(h *inquiry, c counsel) answer.Fix {
	return answer.Fix{Text: c.Text, Command: kubectl.Restart(h.Pod.Namespace, h.Object), Risk: answer.Restarts}
}

// editConfig changes what stands in a file, as [inquiry.configFix] does.
func editConfig(h *inquiry, c counsel) answer.Fix { return h.configFix(c.container, c.Text) }

// configFix edits the ConfigMap of a container, or the pod's template where the container has none, or several.
func (h *inquiry) configFix(container, text string) answer.Fix {
	name := h.onlyConfigMap(container)
	if name == "" {
		return h.specFix(text)
	}
	return kubectl.Edit(text+", in ConfigMap "+name, "ConfigMap", h.Pod.Namespace, name, h.Object)
}

// onlyConfigMap is the one ConfigMap from which a container has its files and variables; empty where
// there is none, or more of them.
func (h *inquiry) onlyConfigMap(container string) (name string) {
	for _, s := range h.sources(h.spec(container)) {
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

// elsewhereFix changes a program, or what the container may only ask: nobody knows where that is.
func elsewhereFix(_ *inquiry, c counsel) answer.Fix {
	return answer.Fix{Text: c.Text, Command: c.Command, Risk: answer.Restarts}
}

// settingNamed fits the name of a setting that words miss, in quotes.
var settingNamed = regexp.MustCompile(`(?i)\b(?:value|setting|option|property|key)s? (?:at |for )?['"]([\w.\[\]-]{3,})['"]|\x60([\w.-]{3,})\x60 (?:to be set|must be set|is required|is not set)`)

// giveSetting gives a setting that is missing, by its name where the words have it.
func giveSetting(h *inquiry, c counsel) answer.Fix {
	if m := settingNamed.FindStringSubmatch(c.said); m != nil {
		return h.configFix(c.container, fmt.Sprintf("give it that setting, %s: %s", m[1]+m[2], c.Text)).About(m[1] + m[2])
	}
	return h.specFix("give it that setting: "+c.Text).As(answer.StepGiveSetting, nil)
}

// guest fits the address of a broker of another host with the user that RabbitMQ has from its start.
var guest = regexp.MustCompile(`\bamqps?://guest:[^@\s]*@(?:[a-km-z]|l[^o]|\d)`)

// valuesOf are the values that a container's spec gives its program, in one text.
func (h *inquiry) valuesOf(container string) string {
	c := h.spec(container)
	all := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		all = append(all, e.Value)
	}
	return strings.Join(all, "\n")
}

// compareCredentials names the Secrets from which a container has them, as far as its variables tell.
func compareCredentials(h *inquiry, c counsel) answer.Fix {
	if guest.MatchString(h.valuesOf(c.container)) && words.Has(c.said, "ACCESS_REFUSED") {
		return answer.Fix{Text: "RabbitMQ lets user guest in from its own host alone: make another user there (rabbitmqctl add_user and set_permissions, or RABBITMQ_DEFAULT_USER), and give that one to the container", Risk: answer.Restarts}
	}
	c.Text += inBrackets("at the server: ", passwordCommand(c.said))
	secret, from := h.onlySecret(c.container)
	if secret == "" {
		return h.specFix(c.Text)
	}
	text := c.Text + ": " + strings.Join(from, ", ")
	if words.Has(c.said, "ACCESS_REFUSED") {
		text += "; user guest may log in to RabbitMQ from its own host alone: make another user"
	}
	return kubectl.Edit(text, "Secret", h.Pod.Namespace, secret, h.Object)
}

// passwordCommands change a user's password at the servers whose refusals they fit.
var passwordCommands = []struct {
	refusal *regexp.Regexp
	command string
}{
	{regexp.MustCompile(`(?i)password authentication failed|SQLSTATE[ =:]*28P01`), "ALTER ROLE NAME PASSWORD '…'"},
	{regexp.MustCompile(`(?i)access denied for user`), "ALTER USER NAME IDENTIFIED BY '…'"},
	{regexp.MustCompile(`ACCESS_REFUSED`), "rabbitmqctl change_password NAME …"},
	{regexp.MustCompile(`\bWRONGPASS\b|\bNOAUTH\b`), "requirepass in redis.conf, or its ACL"},
	{regexp.MustCompile(`\bSCRAM|\bMongo\w*Error`), "db.changeUserPassword"},
}

// loginName fits the user whom a server refuses.
var loginName = regexp.MustCompile(`(?i)\b(?:user|role) \\?["']([\w.-]+)`)

// passwordCommand is how the server that said this changes the user's password; empty where it does not tell what it is.
func passwordCommand(said string) string {
	for _, p := range passwordCommands {
		if !p.refusal.MatchString(said) {
			continue
		}
		name := "NAME"
		if m := loginName.FindStringSubmatch(said); m != nil {
			name = m[1]
		}
		return strings.Replace(p.command, "NAME", name, 1)
	}
	return ""
}

// onlySecret is the Secret from which a container has variables, and which; empty where it has several or none.
func (h *inquiry) onlySecret(container string) (secret string, from []string) {
	for _, t := range mounts.Variables(h.spec(container)) {
		if t.Kind != "Secret" {
			continue
		}
		what := "its variables are of Secret " + t.Name
		if t.Variable != "" {
			what = fmt.Sprintf("%s is %s of Secret %s", t.Variable, t.Keys[0], t.Name)
		}
		from = append(from, what)
		if secret = cmp.Or(secret, t.Name); secret != t.Name {
			return "", nil
		}
	}
	return secret, from
}

// checkCertificate shows a certificate from a pod of its own: few images have openssl.
func checkCertificate(h *inquiry, c counsel) answer.Fix {
	host, port, ok := splitAddress(words.Place(c.said))
	if !ok {
		host, port = cmp.Or(words.Place(c.said), "HOST"), "443"
	}
	return h.inspect(c.Text, h.kubectl("run tls-test --rm -i --restart=Never --image=alpine/openssl -- s_client -connect %s:%s -servername %s", host, port, host))
}

// rejoinCluster has a member join anew whose data are gone, and keep them from then on: a volume that is its only place
// for them, and goes with its pod, is named.
func rejoinCluster(h *inquiry, c counsel) answer.Fix {
	var goes []string
	for _, v := range h.mounted(c.container) {
		switch {
		case v.EmptyDir != nil:
			goes = append(goes, v.Name)
		case v.PersistentVolumeClaim != nil:
			return h.specFix(c.Text)
		}
	}
	if len(goes) == 1 {
		c.Text += fmt.Sprintf("; and have volume %s outlive the pod: an emptyDir goes with it (volumeClaimTemplates)", goes[0])
	}
	return h.specFix(c.Text)
}

// repairData names the volume that has the data that are damaged, where there is one.
func repairData(h *inquiry, c counsel) answer.Fix {
	where := "its data"
	var kept []string
	for m, v := range h.mounted(c.container) {
		switch {
		case m.ReadOnly:
		case v.PersistentVolumeClaim != nil:
			kept = append(kept, fmt.Sprintf("volume %s (claim %s)", v.Name, v.PersistentVolumeClaim.ClaimName))
		case v.EmptyDir != nil || v.HostPath != nil:
			kept = append(kept, "volume "+v.Name)
		}
	}
	if len(kept) == 1 {
		where += " of " + kept[0]
	}
	return answer.Fix{Text: fmt.Sprintf("see first whether each of its volumes is the one that it had; if so, make a copy of %s, then repair them with the program's own tool, or restore a backup", where), Risk: answer.Destructive}
}

func allowServiceAccount(_ *inquiry, c counsel) answer.Fix {
	space, account, verb, resource, in := c.slots["account_namespace"], c.slots["account"], c.slots["verb"], c.slots["resource"], c.slots["scope"]
	if group := c.slots["group"]; group != "" {
		resource += "." + group
	}
	kind, scope := "role", shell.Line("")
	if in == "" {
		kind = "clusterrole"
	} else {
		scope = shell.Linef("-n %s ", in)
	}
	name, text := account+"-"+verb, fmt.Sprintf("let service account %s/%s %s %s, if it should: with this command, or in the program's own manifests", space, account, verb, resource)
	if verb == "list" || verb == "watch" { // who lists to keep a copy watches, too
		name, verb = account+"-read-"+c.slots["resource"], "get,list,watch"
	}
	if account == "default" {
		text += " (all pods without a serviceAccountName of their own use this account: if the program was meant to have another, set that)"
	}
	return answer.Fix{
		Text:    text,
		Command: string(shell.Linef("kubectl %screate %s %s --verb=%s --resource=%s && kubectl %screate %sbinding %s --%s=%s --serviceaccount=%s:%s", scope, kind, name, verb, resource, scope, kind, name, kind, name, space, account)),
		Risk:    answer.Safe,
	}
}

// addHBALine is the line of pg_hba.conf that lets in whom PostgreSQL turned away: from all of the pods' addresses, since
// a pod has another one each time.
func addHBALine(_ *inquiry, c counsel) answer.Fix {
	copies, host, user, database := c.slots["replication"] != "", c.slots["host"], c.slots["user"], c.slots["database"]
	if copies || database == "" {
		database = "replication"
	}
	line := fmt.Sprintf("host %s %s %s scram-sha-256", database, user, around(host))
	if host == "[local]" {
		line = fmt.Sprintf("local %s %s scram-sha-256 (or trust, while it is set up)", database, user)
	}
	text := fmt.Sprintf("add this line to the database's pg_hba.conf, before any that rejects: %s; then select pg_reload_conf()", line)
	if copies {
		text += "; a line for database \"all\" does not match replication"
	}
	if strings.Contains(c.said, "no encryption") {
		text += "; or, where a line hostssl is there for it, have the client use TLS (sslmode=require)"
	}
	return answer.Fix{Text: text, Risk: answer.Restarts}.As(answer.StepAddEntry, nil)
}

// around are the addresses among which the one of a pod is; of IPv6 that one, as nobody knows how many bits the network
// has.
func around(host string) string {
	switch parts := strings.Split(strings.TrimPrefix(host, "::ffff:"), "."); {
	case len(parts) == 4 && numeric(host):
		return fmt.Sprintf("%s.%s.0.0/16", parts[0], parts[1])
	case !numeric(host):
		return host
	}
	return host + "/128"
}

// replaceMountedFile names the file that is mounted by itself, where the words do.
func replaceMountedFile(h *inquiry, c counsel) answer.Fix {
	file := "that file"
	for _, m := range h.spec(c.container).VolumeMounts {
		if m.SubPath != "" && strings.Contains(c.said, m.MountPath) {
			file = fmt.Sprintf("%s (volume %s, subPath %s)", m.MountPath, m.Name, m.SubPath)
		}
	}
	return h.specFix(fmt.Sprintf("copy %s into an emptyDir (in an init container), mount that instead and change it there; or have the ConfigMap or Secret hold what it is to be in the end", file))
}

// moduleNamed fits the name of a module that words miss.
var moduleNamed = regexp.MustCompile(`(?i)\bno module named '([\w.]+)'|\bcould not import module "([\w.]+)"`)

// addModule is what to do about a part of a program that is not there: where the command itself names it, it is
// looked for in the wrong place more often than it is missing.
func addModule(h *inquiry, w counsel) answer.Fix {
	c := h.spec(w.container)
	m := moduleNamed.FindStringSubmatch(w.said)
	if c.Name == "" || m == nil {
		return h.specFix("build the image again with all its dependencies, for the version of the runtime that it has")
	}
	name := m[1] + m[2]
	fields := strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
	i := slices.IndexFunc(fields, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+":") })
	if i < 0 {
		return h.specFix(fmt.Sprintf("build the image again with module %s (requirements.txt, or the package that has it), for the version of the runtime that it has", name))
	}
	return h.specFix(fmt.Sprintf("start container %s where module %s is (workingDir, or --chdir, --app-dir or PYTHONPATH), or name it in place of %s as it is there (FOLDER.%s); see also that its volume is mounted there", w.container, name, fields[i], fields[i]))
}

// createDatabase names where the one who was asked has its list, where that is a pooler.
func createDatabase(_ *inquiry, c counsel) answer.Fix {
	text := "create it there, or correct the name that the program is given"
	if m := unknownDatabase.FindStringSubmatch(c.said); m != nil {
		text = fmt.Sprintf("correct the name of the database that the program is given, if the server has another one; if it was never made, CREATE DATABASE %s there (MYSQL_DATABASE and POSTGRES_DB of an image do so only for a folder of data that is empty)", m[1]+m[2])
	}
	if pooled.MatchString(c.said) {
		text = "give PgBouncer a line for it in section [databases] of its pgbouncer.ini (NAME = host=HOST dbname=NAME, or * for all), or correct the name that the program is given"
	}
	return answer.Fix{Text: text, Risk: answer.Restarts}
}

// unknownDatabase fits the name of one that a server does not have.
var unknownDatabase = regexp.MustCompile(`(?i)\bdatabase "([\w-]+)" does not exist|\bunknown database '([\w-]+)'`)

// pooled fits PgBouncer's words of a database that it has no line for.
var pooled = regexp.MustCompile(`(?i)\bno such database: \S`)

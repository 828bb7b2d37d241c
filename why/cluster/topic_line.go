package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// topic is what a cause or words are about in the configuration of who is to blame.
type topic struct {
	causes []answer.Cause     // none: any
	said   []*knowledge.Known // none: whatever is said
	fits   *regexp.Regexp     // a line of it
	not    *regexp.Regexp     // a line that fits and is of something else; nil: none
	does   string             // what is to be done about such a line
}

// topics go before those behind them. Programs call the same by like names: what is told here stands in the
// manuals of HAProxy, nginx, Apache, php-fpm, Tomcat, gunicorn, Redis, PostgreSQL, MariaDB, PgBouncer and others.
var topics = []topic{
	{
		causes: []answer.Cause{answer.AppListensElse},
		fits:   regexp.MustCompile(`(?i)\b(?:bind|listen|host|addr|address|server|serve|interface|run)\w*\b.*(?:\b127\.0\.0\.1\b|\blocalhost\b|::1\b)`),
		not:    regexp.MustCompile(`(?i)server_?name|<Host\b|default_?host|allowed|upstream|^\s*server\s+\S+\s+127`), // names, and servers behind a proxy
		does:   "change where it listens to all addresses (0.0.0.0)",
	},
	{
		causes: []answer.Cause{answer.AppExitSuccess},
		fits:   regexp.MustCompile(`(?i)^\s*daemoni[sz]e\s*[:= ]\s*["']?(?:yes|true|on|1)\b|^\s*daemon(?:\s*[:= ]\s*(?:on|yes|true|1))?\s*;?\s*$|^\s*(?:background|fork)\s*[:=]\s*(?:yes|true)\b|^--daemon(?:ize)?(?:[= ](?:yes|true))?$`),
		does:   "keep the server in the foreground, which this setting prevents",
	},
	{
		said: []*knowledge.Known{knowledge.TakesNoWrites},
		fits: regexp.MustCompile(`(?i)\b(?:replicaof|slaveof|(?:replica|slave|super|default_transaction)[_-]read[_-]only|read[_-]only|hot_standby|primary_conninfo|replica-priority)\b`),
		does: "see what makes it one that takes no writes",
	},
	{
		said: []*knowledge.Known{knowledge.PoolTaken, knowledge.ConnectionLimit},
		fits: regexp.MustCompile(`(?i)\b(?:max[_.-]?(?:user[_-]|db[_-]|client[_-])?(?:conn\w*|clients?|children|threads|sessions|workers|overflow)|(?:default[_-]|min[_-]|reserve[_-])?pool[_-]?size|pm\.max_children|superuser_reserved_connections|maxRequestWorkers|ServerLimit)\b`),
		does: "change the bound that it has reached, or have those who ask it take fewer",
	},
	{
		causes: []answer.Cause{answer.AppOverloaded},
		fits:   regexp.MustCompile(`(?i)\b(?:max[_.-]?(?:conn\w*|clients?|children|threads|requestworkers|workers)|(?:worker|thread)s|workers?[_-](?:processes|connections|concurrency)|concurrency|nbthread|accept-?count|ServerLimit|ThreadsPerChild|threadpool)\b`),
		does:   "change how many it serves at once, if that is too few",
	},
	{
		said: []*knowledge.Known{knowledge.OwnCheck},
		fits: regexp.MustCompile(`(?i)^\s*(?:option\s+(?:\w+-check|httpchk|ssl-hello-chk)|(?:http|tcp)-check|health_check|health_(?:uri|port|status))\b`),
		does: "correct how it checks those behind it",
	},
	{
		said: []*knowledge.Known{knowledge.Credentials},
		fits: regexp.MustCompile(`(?i)\b(?:auth_file|auth_query|auth_user|password_file|aclfile|requirepass|masterauth|masteruser|allow_anonymous|basic_auth|auth_basic_user_file|AuthUserFile|userlist)\b|^\[users\]|^user\s`),
		does: "see whom it lets in, and with which password",
	},
}

// of reports whether a line is of the topic.
func (t topic) of(line string) bool {
	return t.fits.MatchString(line) && (t.not == nil || !t.not.MatchString(line))
}

// mostOfTopic is how many lines of a topic are told: of more nobody knows which it is.
const mostOfTopic = 2

// topicOf is what a verdict is about; nil where it is about none of them.
func (m Matter) topicOf(v answer.Verdict) *topic {
	said := slices.Concat([]string{v.Words(), m.quoted}, m.last, prose.Each(v.Hops, answer.Hop.Words))
	return first(topics, func(t topic) bool {
		return (len(t.causes) == 0 || slices.Contains(t.causes, v.Cause)) && (len(t.said) == 0 || slices.Contains(about, v.Cause) && knowledge.Any(strings.Join(said, "\n"), t.said...))
	})
}

// showTopic adds the lines of the configuration that are of what the verdict is about, arguments and variables among them,
// where no step names them yet.
func (s shown) showTopic() {
	t := s.topic
	if t == nil || s.v.HasStep(answer.StepCorrectLine) {
		return
	}
	for _, o := range s.owners {
		if fix, ok := t.inArguments(o); ok {
			s.v.AddFirst(fix)
			return
		}
		lines := slices.DeleteFunc(o.lines, func(l line) bool { return comment.MatchString(l.text) || !t.of(l.text) })
		if len(lines) == 0 || len(lines) > mostOfTopic {
			continue
		}
		s.v.AddFirst(kubectl.Edit(t.does+": "+prose.Some(prose.Each(lines, line.where)), "ConfigMap", o.pod.Namespace, lines[0].configMap, o.pod))
		return
	}
}

// inArguments is the step where the arguments or variables of a container have such lines.
func (t topic) inArguments(o owner) (answer.Fix, bool) {
	var has []string
	c := o.container
	argv := append(slices.Clone(c.Command), c.Args...)
	for i := 1; i < len(argv); i++ {
		text := argv[i]
		if strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			i++
			text += " " + argv[i]
		}
		for part := range strings.SplitSeq(text, "\n") {
			if t.of(part) && !strings.HasPrefix(strings.TrimSpace(part), "#") {
				has = append(has, ofCommand(part))
			}
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil && t.of(e.Name+"="+e.Value) && !redact.IsSetting(e.Name, e.Value) {
			has = append(has, fmt.Sprintf("variable %s (%s)", e.Name, prose.Brief(e.Value, 60)))
		}
	}
	if len(has) == 0 || len(has) > mostOfTopic {
		return answer.Fix{}, false
	}
	return kubectl.EditTemplate(o.pod.Namespace, o.pod, fmt.Sprintf("%s: container %s has %s", t.does, c.Name, prose.Some(has))), true
}

// ofCommand names a line of a container's command, without what may be a secret in it.
func ofCommand(text string) string {
	if redact.Holds(text) {
		return "its command"
	}
	return fmt.Sprintf("“%s” of its command", prose.Brief(strings.TrimSpace(text), 100))
}

// ofMemory are the causes for which a setting that allows too much memory may be the reason.
var ofMemory = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit}

// showSize begins with the line of a ConfigMap which allows a container most memory, where that is more than three quarters
// of its limit.
func (s shown) showSize() {
	for _, o := range s.owners {
		limit, has := o.container.Resources.Limits[v1.ResourceMemory]
		if !has {
			continue
		}
		var most line
		var name string
		allows := limit.Value() / 4 * 3
		for _, l := range o.lines {
			if n, bytes, ok := words.SizeLine(l.text); ok && bytes > allows && !code.MatchString(l.key) && !comment.MatchString(l.text) {
				most, name, allows = l, n, bytes
			}
		}
		if name == "" {
			continue
		}
		s.v.AddFirst(kubectl.Edit(fmt.Sprintf("lower %s, which allows %s where the limit is %s: %s", name, resource.NewQuantity(allows, resource.BinarySI), limit.String(), most.where()), "ConfigMap", o.pod.Namespace, most.configMap, o.pod))
		return
	}
}

package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// command is one that takes a password by a short flag.
type command struct {
	name string
	// flags take the password as the next argument, and joined to them where joined is set; alone is one
	// that takes it joined only.
	flags  []string
	joined string
	// user: the value is user:password, of which the password alone is masked.
	user string
}

var commands = []command{
	{name: "mysql", joined: "-p"},
	{name: "mysqladmin", joined: "-p"},
	{name: "mysqldump", joined: "-p"},
	{name: "mysqlcheck", joined: "-p"},
	{name: "mysqlshow", joined: "-p"},
	{name: "mariadb", joined: "-p"},
	{name: "mariadb-admin", joined: "-p"},
	{name: "mariadb-dump", joined: "-p"},
	{name: "redis-cli", flags: []string{"-a", "--pass"}},
	{name: "valkey-cli", flags: []string{"-a", "--pass"}},
	{name: "keydb-cli", flags: []string{"-a"}},
	{name: "sshpass", flags: []string{"-p"}, joined: "-p"},
	{name: "mongo", flags: []string{"-p"}},
	{name: "mongosh", flags: []string{"-p"}},
	{name: "mongodump", flags: []string{"-p"}},
	{name: "mongorestore", flags: []string{"-p"}},
	{name: "docker", flags: []string{"-p"}},
	{name: "podman", flags: []string{"-p"}},
	{name: "helm", flags: nil},
	{name: "sqlcmd", flags: []string{"-P"}, joined: "-P"},
	{name: "bcp", flags: []string{"-P"}, joined: "-P"},
	{name: "isql", flags: []string{"-P"}, joined: "-P"},
	{name: "ldapsearch", flags: []string{"-w"}},
	{name: "ldapwhoami", flags: []string{"-w"}},
	{name: "ldapmodify", flags: []string{"-w"}},
	{name: "ldapadd", flags: []string{"-w"}},
	{name: "cqlsh", flags: []string{"-p"}},
	{name: "nodetool", flags: []string{"-pw"}},
	{name: "rabbitmqadmin", flags: []string{"-p"}},
	{name: "influx", flags: []string{"-t"}},
	{name: "curl", user: "-u", flags: []string{"--proxy-user"}},
	{name: "wget", flags: nil},
	{name: "http", user: "-a"},
	{name: "smbclient", user: "-U"},
	{name: "az login", flags: []string{"-p"}},
	{name: "kinit", flags: nil},
	{name: "mosquitto_pub", flags: []string{"-P"}},
	{name: "mosquitto_sub", flags: []string{"-P"}},
	{name: "ipmitool", flags: []string{"-P"}},
	{name: "snmpget", flags: []string{"-A", "-X", "-c"}},
	{name: "lftp", user: "-u"},
	{name: "openssl", flags: []string{"-pass", "-passin", "-passout", "-k"}},
	{name: "sqlplus"},
	{name: "nats", flags: []string{"--creds"}},
	{name: "etcdctl", user: "--user"},
	{name: "clickhouse-client", flags: nil},
	{name: "redis-benchmark", flags: []string{"-a"}},
}

// longOption fits an option that is no password.
var longOption = regexp.MustCompile(`^--[a-z][a-z-]+(?:=\d+)?$`)

// longArgs bounds how far behind a command its arguments are looked for.
const longArgs = 1000

// command masks the passwords among a command's arguments.
func (s *scanner) command(i int, m mark) {
	end := i + len(m.text)
	if i > 0 && (isWord(s.text[i-1]) || s.text[i-1] == '-') || end >= len(s.text) || isWord(s.text[end]) || s.text[end] == '-' || s.text[end] == '.' {
		return
	}
	flag, user := false, false
	for a := s.argument(end); a.from < a.to && a.from-end < longArgs; a = s.argument(a.next) {
		text := s.text[a.from:a.to]
		switch {
		case flag && longOption.MatchString(text): // as in kubectl logs -c mongo -p --tail=100
			flag = false
		case flag || user:
			s.argumentOf(a, user)
			flag, user = false, false
		case text == "|" || text == "||" || text == "&&" || text == ";":
			return
		case slices.Contains(m.flag.flags, text):
			flag = true
		case m.flag.user != "" && (text == m.flag.user || text == "--user"):
			user = true
		case m.flag.user != "" && len(m.flag.user) == 2 && strings.HasPrefix(text, m.flag.user):
			s.argumentOf(argument{from: a.from + 2, to: a.to}, true)
		case m.flag.joined != "" && strings.HasPrefix(text, m.flag.joined) && len(text) > len(m.flag.joined):
			s.unlessKnown(a.from+len(m.flag.joined), a.to)
		case m.flag.name == "sqlplus" && strings.Contains(text, "/"):
			s.oracle(a)
			return
		}
	}
}

// argumentOf masks an argument, or of user:password the password.
func (s *scanner) argumentOf(a argument, user bool) {
	from := a.from
	if user {
		colon := strings.IndexAny(s.text[a.from:a.to], ":%,")
		switch {
		case colon < 0:
			return
		case a.from+colon+1 < a.to:
			from += colon + 1
		default: // a token, and no password
			a.to--
		}
	}
	s.unlessKnown(from, a.to)
}

// unlessKnown masks a part without moving on: what stands before it is looked at still.
func (s *scanner) unlessKnown(from, to int) {
	if from < to && from >= s.done && !known(s.text[from:to]) {
		s.spans = append(s.spans, span{from, to})
	}
}

// oracle masks the password of user/password@host.
func (s *scanner) oracle(a argument) {
	text := s.text[a.from:a.to]
	slash := strings.IndexByte(text, '/')
	to := a.to
	if at := strings.LastIndexByte(text, '@'); at > slash {
		to = a.from + at
	}
	s.unlessKnown(a.from+slash+1, to)
}

// argument is one of a command's, without its quotes, and where the next begins.
type argument struct{ from, to, next int }

// argument reads the argument behind a place: of a shell's line, or of a list of strings.
func (s *scanner) argument(i int) argument {
	text := s.text
	for i < len(text) && (isBlank(text[i]) || strings.IndexByte(",[]\\", text[i]) >= 0 || text[i] == '\n' && text[i-1] == '\\') {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		if i+1 < len(text) && strings.IndexByte(" ,]\n", text[i+1]) >= 0 || i+1 == len(text) {
			return s.argument(i + 1) // the end of the command's own quotes
		}
		if end := closing(text, i+1, text[i]); end > 0 {
			return argument{i + 1, end, end + 1}
		}
		i++
	}
	from := i
	for i < len(text) && !isBlank(text[i]) && !isLine(text[i]) && text[i] != '"' {
		i++
	}
	return argument{from, trimArgument(text, from, i), i}
}

// trimArgument leaves out what closes a list.
func trimArgument(text string, from, to int) int {
	for to > from+1 && strings.IndexByte("\"']),\\", text[to-1]) >= 0 {
		to--
	}
	return to
}

// Args returns the arguments of a command without its secrets, in a new slice.
func Args(args []string) []string {
	out := Lines(args)
	var of command
	for i, arg := range args {
		if at := slices.IndexFunc(commands, func(c command) bool { return c.name == path.Base(arg) }); at >= 0 {
			of = commands[at]
			continue
		}
		if i == 0 {
			continue
		}
		flag := args[i-1]
		switch {
		case strings.HasPrefix(flag, "-") && !strings.HasPrefix(arg, "-") && !strings.Contains(flag, "=") && IsSecret(strings.TrimLeft(flag, "-"), arg), slices.Contains(of.flags, flag) && !known(arg):
			out[i] = Mark
		case of.joined != "" && strings.HasPrefix(arg, of.joined) && len(arg) > len(of.joined) && !known(arg[len(of.joined):]):
			out[i] = of.joined + Mark
		case of.user != "" && (flag == of.user || flag == "--user"):
			if user, password, has := strings.Cut(arg, ":"); has && !known(password) {
				out[i] = user + ":" + Mark
			}
		}
	}
	return out
}

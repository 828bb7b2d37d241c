package words

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"whylet.dev/whylet/knowledge"
)

var (
	// listensAt matches the log line of a server that listens on a port of all addresses, or of its own.
	listensAt = regexp.MustCompile(`(?i)\b(?:listens(?: on)?|(?:listening|serving) (?:on|at)) (?:port )?(\d{2,5})(?:["',;!})]|\.?$)|\b(?:listen(?:ing|s|er)?|serving|bound|binding|server started|started on)\b[^\d]{0,60}?(?:0\.0\.0\.0(?:/|,? ))?(?:(?:[\s"'=*\]]|0\.0\.0\.0|\blocalhost):|\bport(?:\(s\))?[ =:]{0,2})(\d{2,5})\b(?:[^:.\d]|$)|` +
		`\b(?:running|listening|serving|started)(?: on| at)?:? https?://[^\s/:]+:(\d{2,5})\b|` + // Uvicorn, Micronaut, Node
		`\blistening on IPv[46] address "[^"]+", port (\d{2,5})\b|` + // PostgreSQL
		`\bserver socket created on IP: '[^']*', port: '(\d{2,5})'|` + // MariaDB
		`\brunning mode=\w+, port=(\d{2,5})\b|` + // Redis
		`\bstarting protocolhandler \["[a-z-]+-(?:[\d.]+-)?(\d{2,5})"\]`) // Tomcat
	// besideThat matches words about a port that a server opens beside that of its work.
	besideThat = regexp.MustCompile(`(?i)metrics|prometheus|admin|health|management|debug|pprof|actuator|monitor|telemetry|cluster|gossip|peer|grpc|\b(?:rmi|jmx|jdwp)\b`)
	// portSet matches a line of a configuration that has a server listen on a port, as nginx, Apache, php-fpm, HAProxy,
	// Mosquitto, Redis, PostgreSQL, MariaDB, uWSGI, Caddy and programs with properties have it.
	portSet = regexp.MustCompile(`(?i)^\s*(?:(?:listen(?:er)?|bind|port|socket|http[-_]?(?:port|socket)|server\.port)(?:\s*[:=]\s*|\s+)["']?(?:[\d.*\[\]:a-f]*:)?(\d{2,5})\b|(?:https?://)?[\w.*-]*:(\d{2,5})\s*\{\s*$)`)
	// bindsTo matches an option or a line of a configuration that has a server listen on loopback alone.
	bindsTo = regexp.MustCompile(`(?i)^\s*["']?-{0,2}(?:[\w.-]*(?:bind|listen(?:er)?|inet[._-]interfaces)|(?:(?:server|app|http|web|uvicorn|flask[._-]run)[._-])?(?:host|address|addr))(?:[._-](?:on|addr|address|addresses|host|hosts|ip|[\w-]*urls?))?["']?(?:\s*[:=]\s*|\s+)["'\[]*(?:(?P<before>\d{2,5})\s+)?(?:\w+://)?(?:127\.0\.0\.1|localhost|loopback-only|\[?::1\]?)(?::(?P<port>\d{2,5}))?(?:$|[\s"',;\]])`)
)

// ListensOn is the port on which a line of a log says that its server listens, 0 where it says none; beside is set where it
// is one that servers have beside that of their work.
func ListensOn(line string) (port int, beside bool) {
	if m := listensAt.FindStringSubmatch(line); m != nil {
		port, _ = strconv.Atoi(strings.Join(m[1:], ""))
	}
	return port, port != 0 && besideThat.MatchString(line)
}

// OnlyPort returns the only port on which a log says that its server listens, and the line that does; 0 for none, for several
// and for one that servers have beside that of their work.
func OnlyPort(lines []string) (port int, line string) {
	for _, l := range lines {
		switch n, beside := ListensOn(l); {
		case n == 0 || n == port:
		case beside || port != 0:
			return 0, ""
		default:
			port, line = n, l
		}
	}
	return port, line
}

// Announces reports whether a line of a log says of a server that it serves a port in this way.
func Announces(how *knowledge.Known, line string, port int) bool {
	for sentence := range strings.SplitSeq(line, ". ") {
		if how.In(sentence) && of(how.Slots(sentence)["port"], port) {
			return true
		}
	}
	return false
}

// BindsToLoopback is the line of a configuration, or the option of a command line, that has a server listen on a port on
// loopback alone; empty where none does.
func BindsToLoopback(text string, port int) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); bindsTo.MatchString(line) {
			m := bindsTo.FindStringSubmatch(line)
			if of(m[bindsTo.SubexpIndex("before")]+m[bindsTo.SubexpIndex("port")], port) {
				return line
			}
		}
	}
	return ""
}

// PortsSet are the lines of a configuration that have a server listen on a port, by that port.
func PortsSet(text string) map[int]string {
	set := map[int]string{}
	for line := range strings.Lines(text) {
		if m := portSet.FindStringSubmatch(line); m != nil {
			port, _ := strconv.Atoi(m[1] + m[2])
			set[port] = strings.TrimSpace(line)
		}
	}
	return set
}

// of reports whether a port that stands in a line, if one does, is this one.
func of(stands string, port int) bool { return stands == "" || stands == fmt.Sprint(port) }

package logline

import (
	"regexp"
	"strings"
)

// Spot is where in the code of an application something was that a stack tells of.
type Spot struct {
	// File is as the stack names it, a path mostly, Line its line there, In the function: empty
	// where it has no name.
	File, Line, In string
}

// String words a place; empty where there is none.
func (p Spot) String() string {
	switch {
	case p.File == "":
		return ""
	case p.In == "":
		return p.File + ":" + p.Line
	}
	return p.File + ":" + p.Line + ", in " + p.In
}

// form is how a language writes a frame of a stack. above is set where the stack stands above the
// error, with the innermost frame last.
type form struct {
	frame               *regexp.Regexp // with the groups file, line and, where it has one, in
	library             *regexp.Regexp // of what is of the runtime, or of a library
	above               bool
	file, line, in, all int
}

// elsewhere fits the paths of runtimes and of what package managers install.
const elsewhere = `/(?:site-packages|dist-packages|node_modules|gems|vendor|bower_components|pkg/mod)/|^(?:/usr|/opt/(?:java|jdk|venv|bitnami))?/(?:lib|lib64|bin|sbin|share|local)/|/bin/|/lib/(?:python|ruby|node)|/\.yarn/|/\.pnp\.|^node:|^internal/|^<|^\(eval|@v\d`

// libraries are the packages of the JVM, of what runs on it and of what is used there most: what is
// none of them is the application's, or one of its own libraries.
const libraries = `^(?:java|javax|jdk|sun|com\.sun|jakarta|kotlin|kotlinx|scala|clojure|groovy|akka|play|reactor|feign|okhttp3|okio|retrofit2|rx|redis\.clients|liquibase|oracle|freemarker|javassist|junit|lombok|nu|zipkin2|brave|` +
	`org\.(?:apache|springframework|hibernate|eclipse|jboss|postgresql|mariadb|mongodb|bson|codehaus|slf4j|elasticsearch|opensearch|h2|flywaydb|jooq|mybatis|aspectj|quartz|thymeleaf|glassfish|jetbrains|junit|mockito|keycloak|neo4j|infinispan|xnio|wildfly|antlr|bouncycastle|redisson|aopalliance|yaml|json|xerial|reflections|graalvm|jdbi|pac4j|lwjgl|osgi|sonarqube|sonar|jenkinsci|logstash|jruby)|` +
	`com\.(?:zaxxer|mysql|google|fasterxml|rabbitmq|microsoft|amazonaws|azure|datastax|hazelcast|netflix|ibm|oracle|typesafe|lightbend|squareup|couchbase|clickhouse|github|linkedin|mongodb|sendgrid|stripe|mchange|alibaba|thoughtworks|jayway|codahale|netty|querydsl|vaadin|atomikos|ctc|jcraft|sap|newrelic|datadog|esotericsoftware|lmax|influxdb|orientechnologies|confluent)|` +
	`io\.(?:netty|vertx|micronaut|quarkus|lettuce|grpc|micrometer|dropwizard|projectreactor|undertow|smallrye|opentelemetry|opentracing|jsonwebtoken|swagger|confluent|prometheus|kubernetes|r2dbc|ktor|reactivex|helidon|javalin|sentry|jaegertracing|debezium|strimzi|minio|zipkin|swagger)|` +
	`ch\.qos|net\.(?:bytebuddy|sf|sourceforge|logstash|spy|ttddyy|javacrumbs)|software\.amazon|graphql|io\.trino|de\.codecentric|dev\.langchain4j)\.`

var packaged = regexp.MustCompile(elsewhere)

var forms = []form{
	{ // File "/app/settings.py", line 12, in load
		frame:   regexp.MustCompile(`^\s*File "([^"]+)", line (\d+)(?:, in (\S+))?\s*$`),
		library: packaged, above: true, file: 1, line: 2, in: 3,
	},
	{ // at com.shop.Orders.load(Orders.java:42) ~[app.jar!/:1.0]
		frame:   regexp.MustCompile(`^\s*at (?:[\w.@-]+/)*([\w.$<>]+)\(([\w$-]+\.(?:java|kt|scala|groovy|clj)):(\d+)\)`),
		library: regexp.MustCompile(libraries), file: 2, line: 3, in: 1, all: 1,
	},
	{ // at load (/srv/config.js:7:9)
		frame:   regexp.MustCompile(`^\s*at (?:async )?(?:new )?(?:([^\s()]+)(?: \[as [^\]]*\])? \()?(?:file://)?((?:/|\./|[A-Za-z]:\\|node:|internal/)[^\s():]+(?:\.[\w]+)?):(\d+):\d+\)?(?: \{)?$`),
		library: packaged, file: 2, line: 3, in: 1,
	},
	{ // at Shop.Orders.Load(String path) in /src/Orders.cs:line 42
		frame:   regexp.MustCompile(`^\s*at ([\w.<>` + "`" + `+\[\]]+)\(.*\) in (\S+):line (\d+)$`),
		library: regexp.MustCompile(`^/_/|^/_\d?/`), file: 2, line: 3, in: 1,
	},
	{ // from /srv/config.rb:3:in 'load'
		frame:   regexp.MustCompile("^\\s*(?:from )?([^\\s:]+\\.(?:rb|ru|rake)):(\\d+)(?::in [`']([^']*)'(?:: .*)?)?$"),
		library: regexp.MustCompile(elsewhere + `|/usr/local/bundle/`), file: 1, line: 2, in: 3,
	},
	{ // #0 /app/index.php(3): load()
		frame:   regexp.MustCompile(`^\s*#\d+ (/[^\s(]+\.\w+)\((\d+)\): (?:[\w\\]+(?:->|::))?\w*`),
		library: packaged, file: 1, line: 2,
	},
	{ // /src/main.go:8 +0x1d, below the function
		frame:   regexp.MustCompile(`^\t(/\S+\.go|[\w-]+(?:\.[\w-]+)+/\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$`),
		library: regexp.MustCompile(elsewhere + `|/go/src/(?:runtime|internal|net|os|io|sync|testing|encoding|database|fmt)/|^(?:golang\.org|google\.golang\.org|k8s\.io|gopkg\.in)/`), file: 1, line: 2,
	},
}

// stackIn is the form of a line of a stack, with what its groups stand for; nil for no such line.
func stackIn(line string) (*form, []string) {
	for i := range forms {
		if m := forms[i].frame.FindStringSubmatch(line); m != nil {
			return &forms[i], m
		}
	}
	return nil, nil
}

// own is the place in the application's code that a frame tells of; none where it is of another's.
func own(f *form, m []string) Spot {
	name := m[f.file]
	if f.all > 0 {
		name = m[f.all]
	}
	if f.library.MatchString(name) {
		return Spot{}
	}
	p := Spot{File: m[f.file], Line: m[f.line]}
	if f.in > 0 {
		p.In = constructor.ReplaceAllString(m[f.in], "")
	}
	if strings.ContainsAny(p.In, "<>(") {
		p.In = ""
	}
	return p
}

// constructor fits how the JVM calls what makes an object or a class.
var constructor = regexp.MustCompile(`\.<(?:cl)?init>$`)

// longestStack is how many lines of a stack are looked at.
const longestStack = 100

// inPHP fits the end of an error of PHP's, which has the innermost place itself.
var inPHP = regexp.MustCompile(` in (/\S+\.\w+)(?::| on line )\d+$`)

// ownFrame is which of the lines about one that gives a reason is the innermost frame of the
// application's own code; -1 where none is, or the line has it already.
func (s *Story) ownFrame(at int) int {
	if at < 0 {
		return -1
	}
	text := s.lines[at].text
	if m := inPHP.FindStringSubmatch(text); m != nil && !packaged.MatchString(m[1]) {
		return -1
	}
	if f, m := stackIn(text); f != nil && !f.above && own(f, m) != (Spot{}) {
		return at // Ruby's
	}
	if i := s.frameAbove(at); i >= 0 {
		return i
	}
	if i := s.frameBelow(at); i >= 0 {
		return i
	}
	return s.frameAround(at)
}

// frameAbove finds it in a traceback of Python's.
func (s *Story) frameAbove(at int) int {
	for i := at - 1; i >= max(0, at-longestStack); i-- {
		text := s.lines[i].text
		f, m := stackIn(text)
		switch {
		case f != nil && f.above:
			if own(f, m) != (Spot{}) {
				return i
			}
		case f != nil || text == "" || text[0] > ' ':
			return -1
		}
	}
	return -1
}

// frameBelow finds it in the stack below an error.
func (s *Story) frameBelow(at int) int {
	routines := 0
	for i := at + 1; i < min(len(s.lines), at+longestStack); i++ {
		text := s.lines[i].text
		if strings.HasPrefix(text, "goroutine ") {
			routines++
		}
		f, m := stackIn(text)
		switch {
		case f != nil && f.above, routines > 1, cause.MatchString(text), f == nil && begun(text):
			return -1
		case f != nil && own(f, m) != (Spot{}):
			return i
		}
	}
	return -1
}

// frameAround finds it in the stack of the error that a cause is one of: of that above it.
func (s *Story) frameAround(at int) int {
	if !cause.MatchString(s.lines[at].trimmed) {
		return -1
	}
	best := -1
	for i := at; i >= max(0, at-longestStack); i-- {
		text := s.lines[i].text
		f, m := stackIn(text)
		switch {
		case f != nil && f.above:
			return best
		case f != nil && own(f, m) != (Spot{}):
			best = i
		case best >= 0 && !frame.MatchString(text), i < at && begun(text):
			return best
		}
	}
	return best
}

// begun reports whether a logger begins a line.
func begun(text string) bool { return preamble.MatchString(text) && text[0] > ' ' }

// RaisedAt returns where in the code of its application the log says that happened of which it tells most; none
// where it does not say, or all that it names is of others.
func (s *Story) RaisedAt() Spot {
	at := s.Primary()
	if at < 0 {
		return Spot{}
	}
	return s.placeOf(s.ownFrame(s.whole(s.origin(at))))
}

// TroubleAt is the same of a program that goes on, see [Story.Trouble].
func (s *Story) TroubleAt(warned bool) Spot {
	at := s.troubles(warned)
	if at < 0 {
		return Spot{}
	}
	return s.placeOf(s.ownFrame(s.whole(at)))
}

// placeOf is what a frame tells.
func (s *Story) placeOf(i int) Spot {
	if i < 0 {
		return Spot{}
	}
	f, m := stackIn(s.lines[i].text)
	p := own(f, m)
	if strings.HasSuffix(p.File, ".go") && i > 0 {
		if m := goCall.FindStringSubmatch(s.lines[i-1].text); m != nil && m[1] != "main" {
			p.In = m[1]
		}
	}
	return p
}

// goCall fits a call as a panic of Go's tells of it.
var goCall = regexp.MustCompile(`^[\w./@()*-]+\.(\w+)\([^()]*\)$`)

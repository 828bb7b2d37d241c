package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
)

// moduleNamed fits the name of a module that words miss.
var moduleNamed = regexp.MustCompile(`(?i)\bno module named '([\w.]+)'|\bcould not import module "([\w.]+)"`)

// missingModule is what to do about a part of a program that is not there: where the command itself names it, it is
// looked for in the wrong place more often than it is missing.
func missingModule(h *inquiry, container, said string) answer.Fix {
	c := h.Spec(container)
	m := moduleNamed.FindStringSubmatch(said)
	if c == nil || m == nil {
		return h.specFix("build the image again with all its dependencies, for the version of the runtime that it has")
	}
	name := m[1] + m[2]
	fields := strings.Fields(strings.Join(append(slices.Clone(c.Command), c.Args...), " "))
	i := slices.IndexFunc(fields, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+":") })
	if i < 0 {
		return h.specFix(fmt.Sprintf("build the image again with module %s (requirements.txt, or the package that has it), for the version of the runtime that it has", name))
	}
	return h.specFix(fmt.Sprintf("start container %s where module %s is (workingDir, or --chdir, --app-dir or PYTHONPATH), or name it in place of %s as it is there (FOLDER.%s); see also that its volume is mounted there", container, name, fields[i], fields[i]))
}

// shadowedName fits the name of a package that a file of the program's own has, too.
var shadowedName = regexp.MustCompile(`'(\w+)' is not a package|\bconsider renaming '([^']+)'`)

// shadowed is what to do about such a file.
func shadowed(h *inquiry, _, said string) answer.Fix {
	name := "it"
	if m := shadowedName.FindStringSubmatch(said); m != nil {
		name = m[1] + m[2]
		if m[1] != "" {
			name += ".py"
		}
	}
	return h.specFix(fmt.Sprintf("rename %s, which is the program's own, or take its folder out of PYTHONPATH and workingDir, which go before the installed packages", name))
}

// noDatabase names where the one who was asked has its list, where that is a pooler.
func noDatabase(h *inquiry, container, said string) answer.Fix {
	text := "create it there, or correct the name that the program is given"
	if m := unknownDatabase.FindStringSubmatch(said); m != nil {
		text = fmt.Sprintf("CREATE DATABASE %s there (MYSQL_DATABASE and POSTGRES_DB of an image do so only for a folder of data that is empty), or correct the name that the program is given", m[1]+m[2])
	}
	if pooled.MatchString(said) {
		text = "give PgBouncer a line for it in section [databases] of its pgbouncer.ini (NAME = host=HOST dbname=NAME, or * for all), or correct the name that the program is given"
	}
	return atDatabase(text)(h, container, said)
}

// unknownDatabase fits the name of one that a server does not have.
var unknownDatabase = regexp.MustCompile(`(?i)\bdatabase "([\w-]+)" does not exist|\bunknown database '([\w-]+)'`)

// pooled fits PgBouncer's words of a database that it has no line for.
var pooled = regexp.MustCompile(`(?i)\bno such database: \S`)

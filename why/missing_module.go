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

// shadowedName fits the name of a package that a file of the program's own has, too.
var shadowedName = regexp.MustCompile(`'(\w+)' is not a package|\bconsider renaming '([^']+)'`)

// renameShadowingFile is what to do about such a file.
func renameShadowingFile(h *inquiry, c counsel) answer.Fix {
	name := "it"
	if m := shadowedName.FindStringSubmatch(c.said); m != nil {
		name = m[1] + m[2]
		if m[1] != "" {
			name += ".py"
		}
	}
	return h.specFix(fmt.Sprintf("rename %s, which is the program's own, or take its folder out of PYTHONPATH and workingDir, which go before the installed packages", name))
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

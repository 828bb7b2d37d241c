package logline

import "regexp"

// contextPaths fit what servers say of the path below which they serve an application: Spring Boot 3 (TomcatWebServer),
// Jetty 12 and other servlet containers, Tomcat 10 by the folder or archive that it deploys, Quarkus, ASP.NET Core
// and Puma by what they call it.
var contextPaths = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:context|base|root)[ _-]?path(?: is| set to)?[:=]? ?['"\[]?(/[\w~.-]+(?:/[\w~.-]+)*)`),
	regexp.MustCompile(`Deploy(?:ing|ment of) web application (?:directory|archive) \[[^\]]*/([\w~#.-]+?)(?:\.war)?\]`),
}

// ContextPath is the path below which a line of a log says that an application is, from the root; empty where it says
// none, or the root.
func ContextPath(line string) string {
	for i, form := range contextPaths {
		m := form.FindStringSubmatch(line)
		switch {
		case m == nil:
		case i == 0:
			return m[1]
		case m[1] != "ROOT":
			return "/" + m[1]
		}
	}
	return ""
}

package logline

import "strings"

// category fits the line that .NET's logger puts above what it says.
var category = expr(`^(crit|fail|warn|info|dbug|trce): [\w.]+\[\d+\]$`)

// mostBelow is how severe a line can be that stands below one, which is more than a line where .NET's
// logger puts the level above what it says.
func mostBelow(line string) Severity {
	if !strings.HasSuffix(line, "]") {
		return Raised
	}
	switch m := category.FindStringSubmatch(line); {
	case m == nil, m[1] == "crit", m[1] == "fail":
		return Raised
	case m[1] == "warn":
		return Warning
	}
	return Plain
}

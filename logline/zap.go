package logline

import "strings"

// zapConsole is a line of zap's console, which ends with an object, with the reason in that.
func zapConsole(line string) string {
	if at := strings.LastIndex(line, "\t{"); at > 0 {
		if why := structured(members(line[at+1:])); why != "" {
			return line[:at] + ": " + why
		}
	}
	return line
}

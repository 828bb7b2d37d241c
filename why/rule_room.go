package why

import (
	"fmt"
	"strings"
)

// roomRules are about what there was no room for.
var roomRules = []rule[ending]{
	{
		name: "disk-full-said", causes: []Cause{DiskFull},
		needs:   "\"no space left on device\" among the last words of a process that ended with an error",
		against: "exit code 0",
		judge:   diskFullSaid,
	},
}

// diskFullSaid: the application's last words are ENOSPC's.
func diskFullSaid(e ending) *finding {
	if e.exit.ExitCode == 0 || !strings.Contains(strings.ToLower(e.exit.Message), "no space left on device") {
		return nil
	}
	return &finding{
		cause: DiskFull, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("Container %s ended%s because it could not write: %s.", e.run.Container, e.after(), brief(e.exit.Message, kept)),
		fixes: []Fix{e.h.inspect("see what fills its file systems", e.h.exec(e.run.Container, "df -h"))},
	}
}

package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
)

// ComplaintIn is what the end of a log complains of, if it is a complaint that a
// rule goes by.
func ComplaintIn(text string) fact.Complaint {
	switch {
	case noSpace(text):
		return fact.NoSpace
	case noFork(text):
		return fact.NoFork
	case readOnly(text):
		return fact.ReadOnly
	}
	return ""
}

func (e ending) noSpace() bool  { return noSpace(e.exit.Message) || e.exit.Complaint == fact.NoSpace }
func (e ending) noFork() bool   { return noFork(e.exit.Message) || e.exit.Complaint == fact.NoFork }
func (e ending) readOnly() bool { return readOnly(e.exit.Message) || e.exit.Complaint == fact.ReadOnly }

// lastSaid is its termination message, or what is known of its log.
func (e ending) lastSaid(complaint string) string {
	switch {
	case e.exit.Message != "":
		return brief(e.exit.Message, kept)
	case complaint != "":
		return complaint + ", says the end of its log"
	}
	return ""
}

// lastWordRules go by the last words of a process: its termination message, or what
// the end of its log complains of.
var lastWordRules = []rule[ending]{
	{
		name: "exec-format-said", causes: []Cause{AppStartFailed},
		needs:   "the runtime's words exec format error as all that the container said, within 3 s of the start, and exit code 255",
		against: "a run that lasted longer, or another exit code",
		judge:   execFormatSaid,
	},
	{
		name: "read-only-said", causes: []Cause{SecurityRefused},
		needs:   "EROFS among the last words of a process that ended with an error, or in the last lines of its log, in a container with readOnlyRootFilesystem",
		against: "exit code 0; a container whose root can be written",
		judge:   readOnlySaid,
	},
}

// execFormatSaid: the kernel refused the program when the runtime's own process
// had already been started in its place, so the container counts as started (runc
// exits with 255 then).
func execFormatSaid(e ending) *finding {
	said := strings.ToLower(e.exit.Message)
	if e.exit.ExitCode != 255 || e.lasted() > quickly || !strings.Contains(said, "exec format error") {
		return nil
	}
	return &finding{
		cause: AppStartFailed, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("The program of container %s is made for another kind of machine: %s.", e.run.Container, brief(e.exit.Message, kept)),
		fixes: []Fix{e.h.specFix("use an image for this kind of machine; a script needs a first line such as #!/bin/sh")},
	}
}

// readOnly: the C library's words for EROFS.
func readOnly(text string) bool {
	return strings.Contains(strings.ToLower(text), "read-only file system")
}

// readOnlySaid: it tried to write to its own image, which its security context
// forbids.
func readOnlySaid(e ending) *finding {
	if e.exit.ExitCode == 0 || e.spec == nil || !e.readOnly() {
		return nil
	}
	context := e.spec.SecurityContext
	if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
		return nil
	}
	return &finding{
		cause: SecurityRefused, weight: strong, chain: e.chain(),
		text:  fmt.Sprintf("Container %s ended%s because it may not write to its own root file system (readOnlyRootFilesystem): %s.", e.run.Container, e.after(), e.lastSaid("read-only file system")),
		fixes: []Fix{e.h.specFix("mount an emptyDir where it writes, or let it write to its root file system")},
	}
}

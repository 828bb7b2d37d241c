package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// process names a process by what is known of it; empty where nothing is. The
// kernel's counters tell of an end, and not of which process it was.
func process(command string, pid int) string {
	return joined(", ", prose.Brief(command, 40), prose.Whether(pid != 0, fmt.Sprintf("pid %d", pid), ""))
}

// joined are those of some words that are not empty, one behind the other.
func joined(by string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), by)
}

// inBrackets puts what is known in brackets behind a word, with another before it.
func inBrackets(lead, known string) string {
	return prose.Whether(known == "", "", " ("+lead+known+")")
}

func howEnded(b fact.ProcessEnded) string {
	return prose.Whether(b.Signal != 0, "died of "+signalName(b.Signal), fmt.Sprintf("ended with exit code %d", b.ExitCode))
}

// hookSaid is how a hook failed. Its command gives way to how that ended and what it said, which
// stand behind it.
func hookSaid(text string) string {
	text = words.Start(words.Hook(text))
	const ended = "' exited with "
	i := strings.LastIndex(text, ended)
	if i < 0 {
		return prose.Brief(text, kept)
	}
	code, output, _ := strings.Cut(text[i+len(ended):], ": ")
	return prose.Midst(text[:i], kept/2) + ended + strings.TrimRight(code, ": ") + colon(prose.Midst(words.Told(output), kept))
}

func signalName(n int32) string { return cmp.Or(fact.SignalNames[n], fmt.Sprintf("signal %d", n)) }

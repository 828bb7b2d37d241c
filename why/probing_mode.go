package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/words"
)

// mode is how a probe attempt failed, as far as its evidence shows.
type mode string

const (
	refused     mode = "refused"     // nothing listens, or something rejects
	silent      mode = "silent"      // connected, and no answer in time
	unreachable mode = "unreachable" // no connection, and no refusal
	broken      mode = "broken"      // the connection broke off before an answer
	answered    mode = "answered"    // an HTTP status that counts as failure
	mismatch    mode = "mismatch"    // what came back is another protocol
	exitCode    mode = "exit code"   // the command ran and said no
	commandLate mode = "command late"
	notServing  mode = "not serving" // a gRPC health service said so
	impossible  mode = "impossible"  // the attempt itself could not be made
	redirects   mode = "redirects"   // each answer sends on to the next, without an end
	unclear     mode = "unclear"
)

// commonMode is how most attempts failed, and the newest of those; of two that
// are as common, the newer one.
func (p *probing) commonMode() (mode, fact.Probed) {
	count := map[mode]int{}
	newest := map[mode]fact.Probed{}
	best, sentOn := unclear, 0
	for _, f := range p.failed {
		b, m := p.read(fact.Of[fact.Probed](f))
		if m == silent && b.Evidence.Redirected != "" {
			sentOn++
		}
		count[m]++
		newest[m] = b
		if count[m] >= count[best] {
			best = m
		}
	}
	if count[redirects] > 0 && count[redirects]+sentOn == len(p.failed) {
		return redirects, newest[redirects] // the others were on their way when their time was over
	}
	if best == silent || best == commandLate {
		// On a busy machine some attempts get no answer; what one of them was told
		// says more than that the others were too late.
		for _, m := range []mode{answered, exitCode, notServing} {
			if count[m] > 0 && 3*count[m] >= len(p.failed) {
				return m, newest[m]
			}
		}
	}
	return best, newest[best]
}

// modeOf reads the evidence of one attempt.
func modeOf(b fact.Probed) mode {
	ev := b.Evidence
	if ev == nil {
		if b.Verdict == fact.Unknown {
			return impossible
		}
		return unclear
	}
	switch {
	case ev.Handler == fact.Exec:
		return execMode(b, ev)
	case ev.Handler == fact.HTTPGet && words.CutShort(b.Message):
		return broken // kubelet counts that as an attempt that could not be made
	case b.Verdict == fact.Unknown:
		return impossible
	case ev.Errno == "ECONNREFUSED":
		return refused
	case ev.Status >= 400:
		return answered
	case ev.Errno == "ECONNRESET", ev.Errno == "EPIPE":
		return broken
	case ev.Errno == "EHOSTUNREACH", ev.Errno == "ENETUNREACH", ev.Errno == "EPERM", ev.Errno == "EACCES":
		return unreachable
	case ev.Timeout && !connected(b):
		return unreachable
	case ev.Timeout:
		return silent
	case ev.Handler == fact.GRPC && (ev.Connect > 0 || b.By == fact.BySay && ev.Output != ""):
		return notServing
	case knowledge.ManyRedirects.In(ev.Error):
		return redirects
	case knowledge.OtherProtocol.In(ev.Error):
		return mismatch
	case words.BrokeOff(ev.Error):
		return broken
	}
	return unclear
}

// connected says whether the attempt came to a connection. Who only tells of attempts
// names what failed, and is taken to have connected where that is not the dialing
// itself; [probing.findOut] knows better where somebody asked again.
func connected(b fact.Probed) bool {
	return b.Evidence.Connect > 0 || b.By == fact.BySay && !strings.Contains(b.Evidence.Error, "dial ")
}

// findOut corrects the mode where the attempts are known by words that do not say whether
// a connection came about, and one that was made again shows that none does.
func (p *probing) findOut() {
	if p.mode != silent || p.last.By != fact.BySay || p.last.Evidence.Connect > 0 {
		return
	}
	came, none := p.again()
	if came == nil && none != nil && fact.Of[fact.AskedAgain](none).Evidence.Connect == 0 {
		p.mode = unreachable
	}
}

func commandSaid(ev *fact.Evidence) string {
	if ev.ExitCode == nil {
		return "fails"
	}
	return fmt.Sprintf("exits with %d", *ev.ExitCode)
}

func execMode(b fact.Probed, ev *fact.Evidence) mode {
	switch {
	case ev.Timeout:
		return commandLate
	case ev.ExitCode != nil && *ev.ExitCode != 126 && *ev.ExitCode != 127:
		return exitCode
	case ev.ExitCode == nil && b.By == fact.BySay && b.Verdict == fact.Failure:
		return exitCode // kubelet tells that the command said no, and not its code
	case ev.ExitCode != nil, b.Verdict == fact.Unknown:
		return impossible
	}
	return unclear
}

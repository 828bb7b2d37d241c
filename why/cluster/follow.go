package cluster

import (
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// leads are the causes that may be the effect of another pod's trouble.
var leads = []answer.Cause{
	answer.DependencyDown, answer.AppUnhealthy, answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed,
	answer.AppNotListening, answer.AppExitError, answer.AppExitSuccess, answer.InitWaiting, answer.InitFailed, answer.CauseUnknown,
}

// MayLead says whether a verdict may be the effect of another pod's trouble.
func MayLead(v answer.Verdict) bool {
	if answersFull(v) && v.Pod == "" {
		return true
	}
	return slices.Contains(leads, v.Cause) && v.Pod == "" && (v.Cause != answer.AppUnhealthy || status(v) == 0 || status(v) >= 500 || Relays(v))
}

// Relays says whether a verdict is about an answer that another server signs than the one that
// gave it, which so hands it on.
func Relays(v answer.Verdict) bool {
	return slices.ContainsFunc(v.Chain, func(l answer.Link) bool { return l.SignedBy != "" })
}

// MayWait says whether it may be that of one who waits for an answer.
func MayWait(v answer.Verdict) bool {
	return slices.Contains([]answer.Cause{answer.AppHang, answer.AppOverloaded, answer.ProbeTimeoutTooShort, answer.ProbeCommandFailed, answer.DependencyDown, answer.CauseUnknown}, v.Cause) ||
		v.Cause == answer.AppUnhealthy
}

// MayBeConfigured says whether the Services that a pod's configuration names are worth a
// look: it may be that it waits for one.
func MayBeConfigured(v answer.Verdict) bool {
	return MayWait(v) || v.Cause == answer.AppNotListening || v.Cause == answer.InitWaiting
}

// Lacks says whether a verdict is that of one which waits, or answers that it is not available:
// what it lacks it need not say.
func Lacks(v answer.Verdict) bool {
	return v.Cause == answer.InitWaiting || v.Cause == answer.AppUnhealthy && status(v) == 503
}

// Since is when what a verdict explains began: its first link that is no success. LastWell is
// when it was well last before that, zero where no link shows it.
func Since(a *answer.Answer, v answer.Verdict) time.Time {
	for _, l := range v.Chain {
		if !succeeded(l) && !l.At.IsZero() {
			return l.At
		}
	}
	for _, s := range a.Symptoms {
		if s.ID == v.Symptom {
			return s.First
		}
	}
	return time.Time{}
}

// LastWell: see Since.
func LastWell(v answer.Verdict) (at time.Time) {
	for _, l := range v.Chain {
		if succeeded(l) {
			at = l.At
		}
	}
	return at
}

func succeeded(l answer.Link) bool { return l.Outcome == fact.Success }

// First is when the symptom of an answer's verdict began; zero where it has none.
func First(a *answer.Answer, i int) time.Time {
	if i < 0 {
		return time.Time{}
	}
	return a.Symptoms[i].First
}

// WasReached says whether words are those of one that reached whom it asked, and was failed there.
func WasReached(said string) bool {
	_, _, ok := words.FailedBy(said)
	return ok && !knowledge.TimedOut.In(said)
}

// HandsOn says whether a verdict is about an answer that only a gateway gives, of whom it
// hands requests on to (RFC 9110, 15.6), or about one that says itself that it reaches
// something, and not what. A plain 500 or 503 is the application's own.
func HandsOn(v answer.Verdict) bool {
	switch v.Cause {
	case answer.DependencyDown:
		return true
	case answer.AppUnhealthy:
		code, said := status(v), v.Words()
		return code == 502 || code == 504 || code == 503 && knowledge.NoUpstream.In(said)
	}
	return false
}

// Plain says whether a verdict is about an answer of 5xx that an application gives itself, as
// far as the answer shows.
func Plain(v answer.Verdict) bool {
	return v.Cause == answer.AppUnhealthy && status(v) >= 500 && !HandsOn(v)
}

// FailsCommand says whether a verdict is about a command which says that the application is not
// well: another's answer it has none to hand on.
func FailsCommand(v answer.Verdict) bool {
	return v.Cause == answer.AppUnhealthy && status(v) == 0
}

// TimesOut says whether a verdict, or the words that led to a place, are those of one that
// reaches somebody and gets no answer in time.
func TimesOut(v answer.Verdict, said string) bool {
	return v.Cause == answer.AppUnhealthy && status(v) == 504 || knowledge.TooLate.In(said)
}

// ProbeTimesOut reports whether a verdict is about a probe whose newest failed attempt got no answer in time.
func ProbeTimesOut(v answer.Verdict) bool {
	for _, l := range slices.Backward(v.Chain) {
		if l.Outcome == fact.Failure {
			return l.TimedOut
		}
	}
	return false
}

// OverSince says whether the verdict of a pod that is asked is on an end after which it came up again, and
// explains nothing of the failure that it gave for an answer, of which its own log tells now.
func OverSince(pod *v1.Pod, a *answer.Answer, i int, said string) bool {
	return i >= 0 && a.Symptoms[i].Kind == answer.Restarted && LooksWell(pod) && SaysOwn(a) &&
		(knowledge.BrokerRefuses.In(said) || !ReachesNobody(said) && (AnsweredFailure(said) || WasReached(said)))
}

// TurnedAway says whether one asked with credentials that were refused, or for what nobody could give it,
// and whom it asked complains of nothing else: the fault is with who asks.
func TurnedAway(said []string, complaint string) bool {
	for _, refused := range []*knowledge.Known{knowledge.Credentials, knowledge.AsksWrongly} {
		if refused.In(complaint) && slices.ContainsFunc(said, refused.In) {
			return true
		}
	}
	return false
}

// AnsweredFailure says whether words are those of one that was given a failure for an answer, or
// was not let in.
func AnsweredFailure(said string) bool {
	return knowledge.Any(said, knowledge.LetDown, knowledge.LetsNotIn)
}

// Done is the verdict of an answer about a pod whose work is done, so that it serves nobody any more; -1
// where it is not.
func Done(a *answer.Answer) int {
	return slices.IndexFunc(a.Symptoms, func(s answer.Symptom) bool { return s.Kind == answer.Completed })
}

// gateways fits the answers with which a gateway hands on that another fails (RFC 9110, 15.6.3 to 5).
var gateways = regexp.MustCompile(`\b50[234]\b`)

// ReachesNobody says whether words are those of one whose connection did not come about, or was ended by whom
// it asked.
func ReachesNobody(said string) bool {
	_, _, unreached := words.Unreached(said)
	return unreached || words.BreaksOff(said)
}

// awaitsMigrations fits words of one that waits until a database has what it is to have.
var awaitsMigrations = regexp.MustCompile(`(?i)\bwait\w*\b.{0,20}\bmigrations?\b`)

// LacksSchema says whether words are that a database does not have what a program expects there.
func LacksSchema(said string) bool {
	return knowledge.NoTable.In(said) || awaitsMigrations.MatchString(said)
}

// GatewayFailed says whether words are those of one that was given such an answer.
func GatewayFailed(said string) bool { return knowledge.LetDown.In(said) && gateways.MatchString(said) }

// status is the newest HTTP status in a verdict's chain; 0 where there is none.
func status(v answer.Verdict) int {
	for _, l := range slices.Backward(v.Chain) {
		if l.Status != 0 {
			return l.Status
		}
	}
	return 0
}

// recently is how long ago an end may be that others still suffer from, justNow how long a time
// without readiness may be over.
const recently, justNow = 5 * time.Minute, 10 * time.Second

// Trouble returns the index of the verdict of [Root], or of the first symptom Degraded; -1 without either.
func Trouble(a *answer.Answer) int {
	if i := Root(a); i >= 0 {
		return i
	}
	return slices.IndexFunc(a.Symptoms, func(s answer.Symptom) bool { return s.Kind == answer.Degraded })
}

// Root is the verdict of an answer about a pod that others suffer from; -1 where there is
// none: what is over, and what is well, explains nothing.
func Root(a *answer.Answer) int {
	for i, s := range a.Symptoms {
		v := a.Verdicts[i]
		switch {
		case answer.WellOrDone(s, v), v.Cause == answer.None, s.Kind == answer.Terminating, s.Kind == answer.Degraded: // which answers whoever asks it
		case s.Kind == answer.Restarted && a.AsOf.Sub(s.Last) > recently:
		case s.Kind == answer.NotReady && !s.Last.IsZero() && a.AsOf.Sub(s.Last) > justNow:
		default:
			return i
		}
	}
	return -1
}

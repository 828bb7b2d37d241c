package ask

import (
	"slices"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/words"
)

// waiting is what a pod on the way suffers from: its own verdict, or, where it looks well,
// that it was given a failure, or hands one on of which it says nothing, or as far as anyone
// knows waits for an answer.
func waiting(p place, a *answer.Answer, i int) answer.Verdict {
	switch {
	case i >= 0:
		return a.Verdicts[i]
	case cluster.SaysAnothers(a) && !cluster.SaysOwn(a), len(a.Complaints) == 0 && cluster.GatewayFailed(p.Said), slices.ContainsFunc(p.said, knowledge.DatabaseAway.In):
		return answer.Verdict{Cause: answer.DependencyDown}
	}
	return answer.Verdict{Cause: answer.AppHang}
}

// unseen is what is wrong with a pod that looks well, by what who asks it gets; nothing where
// that does not tell.
func unseen(p place, met bool, a *answer.Answer) (answer.Cause, string) {
	hands := p.failing || p.called || p.handsOn && (met || p.How == "") || cluster.AnsweredFailure(p.Said) || words.BreaksOff(p.Said) || p.How == answer.ReachSaid && p.told
	cause, failed, fails := cluster.Fails(a, p.since)
	fails = fails && !cluster.TurnedAway(p.said, answer.Unmarked(failed))
	if hands && fails && p.answered {
		return cause, failed
	}
	if p.slow && met && cluster.Throttled(a) {
		mute, how, _ := cluster.Mute(a)
		return mute, how
	}
	text, waits := cluster.Waits(a, p.top)
	if p.late && met && fails && cluster.Idle(a) {
		return cause, failed // it is no hang that says what is wrong
	}
	if p.late && met {
		mute, how, ok := cluster.Mute(a)
		switch idle := mute == answer.AppHang; {
		case ok && idle && waits:
			return answer.DependencyDown, text
		case ok && (!idle || !p.Heard && !cluster.TimedOutWorker(a)):
			return mute, how
		}
	}
	switch {
	case hands && fails:
		return cause, failed
	case hands && (waits || met) && cluster.ChecksWrongly(a):
		return cluster.GivesUp(a)
	case hands && waits && cluster.SaysAnothers(a):
		return answer.DependencyDown, text
	case hands && met && cluster.SaysAnothers(a):
		return cluster.GivesUp(a)
	}
	return "", ""
}

package fact

import "slices"

// Elsewhere is the name of every pod in a fact that is [Confined] to another namespace.
const Elsewhere = "a pod of another namespace"

// Confined is a fact without what it tells of pods of other namespaces: they keep their
// uid, so that they can be counted, and what they used, but not their names, nor those of
// their containers and processes. The fact itself is not changed.
func Confined(f Fact, namespace string) Fact {
	if f.Pod != (Pod{}) && f.Pod.Namespace != namespace {
		f.Pod, f.Container = f.Pod.elsewhere(), ""
	}
	f.Body = confined(f.Body, namespace)
	return f
}

func (p Pod) elsewhere() Pod { return Pod{Name: Elsewhere, UID: p.UID} }

// in gives a pod as those of a namespace may see it.
func (p Pod) in(namespace string) Pod {
	if p == (Pod{}) || p.Namespace == namespace {
		return p
	}
	return p.elsewhere()
}

func confined(b Body, namespace string) Body {
	switch b := b.(type) {
	case Act:
		if inner, ok := confined(b.Body, namespace).(Decided); ok {
			b.Body = inner
		}
		return b
	case Evict:
		b.Ranking = rankingIn(b.Ranking, namespace)
		return b
	case EvictionNeeded:
		b.Ranking = rankingIn(b.Ranking, namespace)
		return b
	case Refused:
		b.Holders = holdersIn(b.Holders, namespace)
		return b
	case ResizeFailed:
		b.Holders = holdersIn(b.Holders, namespace)
		return b
	case RoomSeen:
		b.Holders = holdersIn(b.Holders, namespace)
		return b
	case RoomMade:
		b.By = b.By.in(namespace)
		return b
	case Signalled:
		if b.SenderPod != nil && b.SenderPod.Namespace != namespace {
			away := b.SenderPod.elsewhere()
			b.SenderPod, b.SenderContainer, b.SenderCommand = &away, "", ""
		}
		return b
	}
	return b
}

func rankingIn(ranking []Ranked, namespace string) []Ranked {
	ranking = slices.Clone(ranking)
	for i := range ranking {
		ranking[i].Pod = ranking[i].Pod.in(namespace)
	}
	return ranking
}

func holdersIn(holders []Holder, namespace string) []Holder {
	holders = slices.Clone(holders)
	for i := range holders {
		holders[i].Pod = holders[i].Pod.in(namespace)
	}
	return holders
}

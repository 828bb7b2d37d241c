package why

import (
	"iter"
	"slices"

	"whylet.dev/whylet/fact"
)

// each yields facts that all have a body of one type, with their bodies; newest does from the last to the first.
func each[B fact.Body](facts []*fact.Fact) iter.Seq2[*fact.Fact, B] {
	return func(yield func(*fact.Fact, B) bool) {
		for _, f := range facts {
			if !yield(f, fact.Of[B](f)) {
				return
			}
		}
	}
}

func newest[B fact.Body](facts []*fact.Fact) iter.Seq2[*fact.Fact, B] {
	return func(yield func(*fact.Fact, B) bool) {
		for _, f := range slices.Backward(facts) {
			if !yield(f, fact.Of[B](f)) {
				return
			}
		}
	}
}

// every yields those of all facts that have a body of one type.
func every[B fact.Body](facts []fact.Fact) iter.Seq2[*fact.Fact, B] {
	return each[B](fact.All[B](facts))
}

// lastThat is the last of some facts that fits; nil where none does.
func lastThat(facts []*fact.Fact, fits func(*fact.Fact) bool) *fact.Fact {
	for _, f := range slices.Backward(facts) {
		if fits(f) {
			return f
		}
	}
	return nil
}

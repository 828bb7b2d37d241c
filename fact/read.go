package fact

// Of reads the body of a fact whose type is known; zero for another, and for no fact.
func Of[B Body](f *Fact) B {
	if f == nil {
		var none B
		return none
	}
	b, _ := f.Body.(B)
	return b
}

// All lists the facts with a body of type B, in their order.
func All[B Body](facts []Fact) []*Fact {
	var found []*Fact
	for i := range facts {
		if _, ok := facts[i].Body.(B); ok {
			found = append(found, &facts[i])
		}
	}
	return found
}

// Latest is the last of the facts with a body of type B.
func Latest[B Body](facts []Fact) (f *Fact, body B, ok bool) {
	for i := len(facts) - 1; i >= 0; i-- {
		if body, ok = facts[i].Body.(B); ok {
			return &facts[i], body, true
		}
	}
	return nil, body, false
}

// Package prefilter makes trying many regular expressions on one text cheap: a single scan of the text finds
// the words that each expression cannot match without, and only the expressions whose words are there run.
// The answers are those of the expressions themselves. It relies on nothing and keeps no state of texts.
package prefilter

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Set is a group of expressions that are tried on the same texts. The zero Set is empty.
type Set struct {
	slots  [slots][]need
	always []uint64 // patterns without a word to look for
	size   int
}

const (
	slots = 1 << 11
	// gram is how many bytes of a word find its slot: a shorter word is not looked for.
	gram = 3
)

// need is a word, in lower case, without which a pattern cannot match.
type need struct {
	word    string
	pattern int
}

// Pattern is an expression of a Set, or several of which one is to match.
type Pattern struct {
	set *Set
	any []one
}

type one struct {
	id int
	re *regexp.Regexp
}

// Compile adds a pattern of one or several expressions. It panics where one is not valid, like
// [regexp.MustCompile]. An expression with an alternative that has no word of three letters runs on every text:
// such alternatives are better given apart.
func (s *Set) Compile(exprs ...string) *Pattern {
	p := &Pattern{set: s}
	for _, expr := range exprs {
		p.any = append(p.any, s.add(regexp.MustCompile(expr)))
	}
	return p
}

func (s *Set) add(re *regexp.Regexp) one {
	words := required(re.String())
	o := one{id: s.size, re: re}
	s.size++
	if o.id%64 == 0 {
		s.always = append(s.always, 0)
	}
	if words == nil {
		s.always[o.id/64] |= 1 << (o.id % 64)
	}
	for _, w := range words {
		slot := &s.slots[hash(w[0], w[1], w[2])]
		*slot = append(*slot, need{word: w, pattern: o.id})
	}
	return o
}

// MatchString reports whether the pattern matches a text that nothing else is tried on.
func (p *Pattern) MatchString(text string) bool {
	return slices.ContainsFunc(p.any, func(o one) bool { return o.re.MatchString(text) })
}

// FindStringSubmatch returns the match of the first expression that has one, and what its groups matched.
func (p *Pattern) FindStringSubmatch(text string) []string {
	for _, o := range p.any {
		if m := o.re.FindStringSubmatch(text); m != nil {
			return m
		}
	}
	return nil
}

// FindStringIndex returns where the first expression that matches does.
func (p *Pattern) FindStringIndex(text string) []int {
	for _, o := range p.any {
		if at := o.re.FindStringIndex(text); at != nil {
			return at
		}
	}
	return nil
}

// Text is a text that was scanned for the patterns of a Set.
type Text struct {
	set   *Set
	s     string
	found []uint64
}

// Scan reads a text once.
func (s *Set) Scan(text string) Text {
	t := Text{set: s, s: text, found: make([]uint64, len(s.always))}
	copy(t.found, s.always)
	if strings.Contains(text, "\u017f") || strings.Contains(text, "\u212a") { // which (?i) takes for s and k
		for i := range t.found {
			t.found[i] = ^uint64(0)
		}
		return t
	}
	for i := 0; i+gram <= len(text); i++ {
		for _, n := range s.slots[hash(lower(text[i]), lower(text[i+1]), lower(text[i+2]))] {
			if t.found[n.pattern/64]&(1<<(n.pattern%64)) == 0 && begins(text[i:], n.word) {
				t.found[n.pattern/64] |= 1 << (n.pattern % 64)
			}
		}
	}
	return t
}

// String returns the text.
func (t Text) String() string { return t.s }

// Fits reports whether a pattern of the text's own Set matches it.
func (t Text) Fits(p *Pattern) bool {
	return slices.ContainsFunc(p.any, func(o one) bool { return t.may(p, o) && o.re.MatchString(t.s) })
}

// May reports whether a pattern of the text's own Set could match it, or a part of it.
func (t Text) May(p *Pattern) bool {
	return slices.ContainsFunc(p.any, func(o one) bool { return t.may(p, o) })
}

func (t Text) may(p *Pattern, o one) bool {
	return p.set != t.set || o.id/64 >= len(t.found) || t.found[o.id/64]&(1<<(o.id%64)) != 0
}

func hash(a, b, c byte) int { return (int(a)*961 + int(b)*31 + int(c)) % slots }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func begins(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

// required returns words in lower case of which every match of an expression has at least one; nil where
// there are none, or one is too short to look for.
func required(expr string) []string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	words := literals(re.Simplify()).best()
	if words == nil || shortest(words) < gram {
		return nil
	}
	return least(words)
}

// least leaves out each word that has another in it.
func least(words []string) (all []string) {
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, w := range words {
		if !slices.ContainsFunc(all, func(have string) bool { return strings.Contains(w, have) }) {
			all = append(all, w)
		}
	}
	return all
}

// found is what is known of the texts that an expression matches: exact are all of them, where they are few;
// any are words of which each has one. Nil where nothing is known.
type found struct{ exact, any []string }

// mostExact is how many texts are told apart.
const mostExact = 64

func (f found) best() []string {
	if f.exact != nil && (f.any == nil || shortest(f.exact) >= shortest(f.any)) {
		return f.exact
	}
	return f.any
}

func shortest(words []string) int {
	n := len(words[0])
	for _, w := range words {
		n = min(n, len(w))
	}
	return n
}

func literals(re *syntax.Regexp) found {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return found{exact: []string{""}}
	case syntax.OpLiteral:
		return found{exact: []string{ascii(string(re.Rune))}}
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpPlus:
		return found{any: literals(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return found{any: literals(re.Sub[0]).best()}
		}
	case syntax.OpQuest:
		if f := literals(re.Sub[0]); f.exact != nil && len(f.exact) < mostExact {
			return found{exact: append([]string{""}, f.exact...)}
		}
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return found{}
}

func alternatives(all []*syntax.Regexp) found {
	f := found{exact: []string{}, any: []string{}}
	for _, sub := range all {
		g := literals(sub)
		if f.exact != nil && g.exact != nil && len(f.exact)+len(g.exact) <= mostExact {
			f.exact = append(f.exact, g.exact...)
		} else {
			f.exact = nil
		}
		if best := g.best(); f.any != nil && best != nil {
			f.any = append(f.any, best...)
		} else {
			f.any = nil
		}
	}
	return f
}

// sequence takes the words of the best stretch of a concatenation.
func sequence(all []*syntax.Regexp) found {
	run, whole, best := []string{""}, true, []string(nil)
	flush := func(next []string) {
		if best == nil || shortest(run) > shortest(best) {
			best = run
		}
		run = next
	}
	for _, sub := range all {
		f := literals(sub)
		switch {
		case f.exact == nil:
			whole = false
			flush([]string{""})
			if f.any != nil && shortest(f.any) > shortest(best) {
				best = f.any
			}
		case len(run)*len(f.exact) > mostExact:
			whole = false
			flush(f.exact)
		default:
			run = product(run, f.exact)
		}
	}
	if whole {
		return found{exact: run}
	}
	flush(nil)
	return found{any: best}
}

func product(a, b []string) []string {
	all := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// ofClass spells a class of few characters out.
func ofClass(ranges []rune) found {
	const few = 4
	var all []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] >= few || len(all) > few {
			return found{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if s := ascii(string(r)); len(all) == 0 || all[len(all)-1] != s {
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 || len(all) > few {
		return found{}
	}
	return found{exact: all}
}

// ascii lowers the letters of ASCII, which is what a scan does.
func ascii(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}

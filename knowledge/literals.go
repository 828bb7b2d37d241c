package knowledge

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// fewest is how many characters a text needs to tell lines apart.
const fewest = 3

// fixedText is what an expression stands for that is a text in any case, in lower case; ok is false of any other.
func fixedText(expression string) (text string, ok bool) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase == 0 {
		return "", false
	}
	text = strings.ToLower(string(re.Rune))
	return text, isASCII(text)
}

// required gives texts, in lower case, of which each text that fits an expression has one, in any case; ok is false
// where there are none.
func required(expression string) (all []string, ok bool) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, false
	}
	all = requiredOf(re)
	return all, len(all) > 0
}

func requiredOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredOf(re.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			of := requiredOf(sub)
			if len(of) == 0 {
				return nil
			}
			all = append(all, of...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if of := requiredOf(sub); worth(of) > worth(best) {
				best = of
			}
		}
		return best
	}
	return nil
}

// literal is the longest part of a literal that upper and lower case have in one form each.
func literal(runes []rune) []string {
	longest := ""
	for _, part := range strings.FieldsFunc(string(runes), func(r rune) bool { return r > unicode.MaxASCII }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) < fewest {
		return nil
	}
	return []string{strings.ToLower(longest)}
}

// worth weighs how well a set of texts tells lines apart: by the shortest of them, and by how few they are.
func worth(all []string) int {
	if len(all) == 0 {
		return 0
	}
	shortest := len(all[0])
	for _, text := range all {
		shortest = min(shortest, len(text))
	}
	return max(1, 4*min(shortest, 12)-len(all))
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// mostSize is how many steps an expression may come to: a short one with counts in braces takes much memory.
const mostSize = 5000

// sizeOf is about how many steps an expression comes to; 0 of one that is none.
func sizeOf(expression string) int {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	return steps(re)
}

func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

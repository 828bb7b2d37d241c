package knowledge

import (
	"regexp"
	"strings"
)

// setsFlags fits a group that sets flags for all that follows in its own group.
var setsFlags = regexp.MustCompile(`^\(\?([imsU]*(?:-[imsU]+)?)\)`)

// alternatives are the parts of an expression between which it leaves the choice at its top, each with the flags that
// hold for it.
func alternatives(expression string) []string {
	var all []string
	flags, begin, deep, class := "", 0, 0, false
	lead := "" // the flags that hold where the current one begins
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\':
			if strings.HasPrefix(expression[i:], `\Q`) {
				if end := strings.Index(expression[i:], `\E`); end > 0 {
					i += end
				} else {
					i = len(expression)
				}
			}
			i++
		case class:
			if end := strings.Index(expression[i:], ":]"); strings.HasPrefix(expression[i:], "[:") && end > 0 {
				i += end + 1
			} else {
				class = c != ']'
			}
		case c == '[':
			class = true
			if strings.HasPrefix(expression[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(expression[i+1:], "]") {
				i++ // stands for itself right behind the bracket
			}
		case c == '(':
			if m := setsFlags.FindStringSubmatch(expression[i:]); deep == 0 && m != nil {
				flags += m[0]
				i += len(m[0]) - 1
				continue
			}
			deep++
		case c == ')':
			deep--
		case c == '|' && deep == 0:
			all = append(all, lead+expression[begin:i])
			begin, lead = i+1, flags
		}
	}
	return append(all, lead+expression[min(begin, len(expression)):])
}

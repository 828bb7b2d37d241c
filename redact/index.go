package redact

import (
	"cmp"
	"slices"
	"strings"
)

// kind is what a mark stands for.
type kind byte

const (
	nameMark    kind = iota // a word of a name
	shapeMark               // the prefix of a token
	schemeMark              // the scheme of an Authorization header
	urlMark                 // "://"
	hookMark                // the beginning of a URL that ends with a secret
	commandMark             // a command that takes a password
	pemMark                 // a private key
)

// mark is a string at which a pass stops.
type mark struct {
	text string // in lower case, but for shapes
	kind kind
	word *word
	tok  *shape
	flag *command
}

// beginnings tells by a hash of three characters, in lower case, whether a mark may begin with them: one plain
// word in fifty does.
type beginnings [1 << 10]uint64

func hash(a, b, c byte) uint { return (uint(a)*31+uint(b))*37 + uint(c)*1021 }

func (p *beginnings) has(a, b, c byte) bool {
	i := hash(a, b, c)
	return p[i>>6&0x3ff]&(1<<(i&63)) != 0
}

func (p *beginnings) add(a, b, c byte) {
	i := hash(a, b, c)
	p[i>>6&0x3ff] |= 1 << (i & 63)
}

var (
	index beginnings
	marks = map[[2]byte][]mark{}
	lower = func() (table [256]byte) {
		for i := range table {
			table[i] = strings.ToLower(string(rune(i)))[0]
			if i >= 0x80 {
				table[i] = byte(i)
			}
		}
		return table
	}()
)

func init() {
	for i := range words {
		addMark(mark{text: words[i].text, kind: nameMark, word: &words[i]})
	}
	for i := range shapes {
		addMark(mark{text: shapes[i].prefix, kind: shapeMark, tok: &shapes[i]})
	}
	for i := range commands {
		addMark(mark{text: commands[i].name, kind: commandMark, flag: &commands[i]})
	}
	for _, scheme := range schemes {
		addMark(mark{text: scheme + " ", kind: schemeMark})
	}
	for _, hook := range hooks {
		addMark(mark{text: hook, kind: hookMark})
	}
	addMark(mark{text: "://", kind: urlMark})
	addMark(mark{text: "private key", kind: pemMark})
	for _, of := range marks {
		slices.SortStableFunc(of, func(a, b mark) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
}

func addMark(m mark) {
	key := [2]byte{lower[m.text[0]], lower[m.text[1]]}
	for third := range 256 {
		if len(m.text) == 2 || byte(third) == lower[m.text[2]] {
			index.add(key[0], key[1], byte(third))
		}
	}
	marks[key] = append(marks[key], m)
}

// marksAt are the marks that may begin at a place of a text, the longest first.
func marksAt(text string, i int) []mark { return marks[[2]byte{lower[text[i]], lower[text[i+1]]}] }

// begins reports whether a mark begins at a place of a text.
func (m mark) begins(text string, i int) bool {
	if len(text)-i < len(m.text) {
		return false
	}
	part := text[i : i+len(m.text)]
	return part == m.text || m.kind != shapeMark && fold(part, m.text)
}

// fold reports whether a text is the same as one in lower case, but for its case.
func fold(text, low string) bool {
	for i := range len(low) {
		if lower[text[i]] != low[i] {
			return false
		}
	}
	return true
}

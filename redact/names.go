package redact

import (
	"slices"
	"strings"
)

// grade is how much a name says about its value.
type grade byte

const (
	weak   grade = iota + 1 // a secret if it looks like one: key, sig, auth
	strong                  // a secret unless it explains something: password, token
	header                  // the value goes on to the end of the line: Cookie, Authorization
)

// word is a part of a name.
type word struct {
	text  string
	grade grade
	// apart: it counts only where another word or nothing stands before it ("bypass" has no
	// password).
	apart bool
	// compound: what the name is worth when another word stands before it (db_pass).
	compound grade
	// qualified: it needs one of the words of qualifiers before it to be worth compound.
	qualified bool
}

// words are told of by their whole, or with an s behind it.
var words = []word{
	{text: "password", grade: strong},
	{text: "passwd", grade: strong},
	{text: "passphrase", grade: strong},
	{text: "passcode", grade: strong},
	{text: "passwort", grade: strong},
	{text: "kennwort", grade: strong},
	{text: "contrasena", grade: strong},
	{text: "contraseña", grade: strong},
	{text: "secret", grade: strong},
	{text: "token", grade: strong},
	{text: "credential", grade: strong},
	{text: "apikey", grade: strong},
	{text: "api key", grade: strong},
	{text: "privatekey", grade: strong},
	{text: "accesskey", grade: strong},
	{text: "secretkey", grade: strong},
	{text: "accountkey", grade: strong},
	{text: "encryptionkey", grade: strong},
	{text: "signingkey", grade: strong},
	{text: "masterkey", grade: strong},
	{text: "authkey", grade: strong},
	{text: "mnemonic", grade: strong},
	{text: "seed_phrase", grade: strong},
	{text: "seed phrase", grade: strong},
	{text: "pwd", grade: strong, apart: true},
	{text: "pw", grade: strong, apart: true},
	{text: "psw", grade: strong, apart: true},
	{text: "pass", grade: weak, apart: true, compound: strong},
	{text: "dbpass", grade: strong},
	{text: "pgpass", grade: strong},
	{text: "userpass", grade: strong},
	{text: "rootpass", grade: strong},
	{text: "rootpw", grade: strong},
	{text: "bindpw", grade: strong},
	{text: "requirepass", grade: strong},
	{text: "masterauth", grade: strong},
	{text: "adminpass", grade: strong},
	{text: "storepass", grade: strong},
	{text: "keypass", grade: strong},
	{text: "sshpass", grade: strong},
	{text: "smtppass", grade: strong},
	{text: "dbpwd", grade: strong},
	{text: "userpwd", grade: strong},
	{text: "mysqlpwd", grade: strong},
	{text: "creds", grade: strong, apart: true},
	{text: "cred", grade: weak, apart: true, compound: strong},
	{text: "key", grade: weak, apart: true, compound: strong, qualified: true},
	{text: "sig", grade: weak, apart: true},
	{text: "signature", grade: weak},
	{text: "auth", grade: weak, apart: true},
	{text: "jwt", grade: weak, apart: true},
	{text: "bearer", grade: weak, apart: true},
	{text: "session", grade: weak, apart: true},
	{text: "sessionid", grade: weak},
	{text: "sessid", grade: weak},
	{text: "session_id", grade: weak},
	{text: "session-id", grade: weak},
	{text: "salt", grade: weak, apart: true},
	{text: "otp", grade: weak, apart: true},
	{text: "authorization", grade: header},
	{text: "cookie", grade: header},
}

// qualifiers are words that make a key a secret.
var qualifiers = strings.Fields(`api access secret private encryption encrypt decryption signing sign account auth master
	shared storage app application client license session jwt hmac ssh deploy service subscription admin root bot webhook
	stripe aws azure gcp openai sendgrid mailgun twilio datadog dd newrelic relic function functions integration ingest
	instrumentation consumer registration cipher crypto aes rsa hash cookie server vault unseal recovery write read host
	x symmetric wrapping kms token oauth algolia maps firebase hub db database`)

// tails are words that, behind such a word in a name, make it a name of something else.
var tails = strings.Fields(`name names file files filename path paths dir directory type types length len count counts size
	ttl expiry expires expiration expired exp lifetime in at age policy policies ref refs reference url uri endpoint provider
	manager store issuer audience version algorithm alg format header prefix field fields mount mounts volume volumes class
	request requests review bucket limit limits usage used per rotation enabled disabled required optional authentication auth
	validation encryption min max strength reset change changed changer hint prompt cache error errors status state valid
	invalid missing controller source sources method mode schema algo rate interval timeout retries window refresh renewed
	created updated generator service parser stream kind java go py js ts rb php kt cs cpp rs scala position index range column table row page screen form checker`)

// name is a name in a text whose value may be a secret.
type name struct {
	left, right int // its place
	from, to    int // that of the word in it
	grade       grade
	plural      bool
	word        string
}

// inName are the characters of names.
func inName(c byte) bool { return isWord(c) || c == '-' || c == '.' || c == '$' }

const longestName = 80

// nameAt reads the name around a word of it. It fails where the word or the name stands
// for something else.
func nameAt(text string, i int, m mark) (name, bool) {
	j := i + len(m.text)
	n := name{from: i, grade: m.word.grade, word: m.word.text}
	if j < len(text) && goesOn(text, j) {
		if lower[text[j]] != 's' || j+1 < len(text) && goesOn(text, j+1) {
			return n, false
		}
		j++
		n.plural = true
	}
	joined := i > 0 && isLetter(text[i-1]) && !(isLower(text[i-1]) && isUpper(text[i]))
	if m.word.apart && joined {
		return n, false
	}
	n.to, n.left, n.right = j, i, j
	for n.left > 0 && i-n.left < longestName && inName(text[n.left-1]) {
		n.left--
	}
	for n.right < len(text) && n.right-j < longestName && (isWord(text[n.right]) || joins(text, n.right)) {
		n.right++
	}
	if n.left > 0 && text[n.left-1] == '/' && (n.left < 2 || text[n.left-2] != '/') {
		return n, false // a file that is called so
	}
	if !n.judge(text, *m.word) {
		return n, false
	}
	return n, true
}

// judge grades a name by the words around the one that it was found by.
func (n *name) judge(text string, w word) bool {
	before, after := parts(text[n.left:n.from]), parts(text[n.to:n.right])
	if slices.ContainsFunc(after, func(s string) bool { return slices.Contains(tails, s) }) {
		return false
	}
	if len(after) > 0 && (after[len(after)-1] == "id" || after[len(after)-1] == "ids") && n.grade == strong {
		n.grade = weak
	}
	if len(after) > 0 && after[len(after)-1] == "key" && w.text == "password" {
		return false // the key of a Secret that has it
	}
	if n.grade == header && len(after) > 0 {
		n.grade = weak
	}
	if w.compound == 0 {
		return true
	}
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1]
	} else if w.qualified {
		last = wordBefore(text, n.left)
	}
	switch {
	case w.qualified && slices.Contains(qualifiers, strings.TrimSuffix(last, "s")), w.qualified && slices.Contains(qualifiers, last):
		n.grade = w.compound
	case !w.qualified && last != "":
		n.grade = w.compound
	}
	return true
}

// wordBefore is the word before a place, one blank between them, in lower case.
func wordBefore(text string, i int) string {
	if i < 2 || text[i-1] != ' ' {
		return ""
	}
	from := i - 1
	for from > 0 && isLetter(text[from-1]) && i-from < 20 {
		from--
	}
	return strings.ToLower(text[from : i-1])
}

// parts are the words of a part of a name, in lower case.
func parts(name string) (all []string) {
	from := 0
	add := func(to int) {
		if to > from {
			all = append(all, strings.ToLower(name[from:to]))
		}
	}
	for i := range len(name) {
		switch {
		case !isLetter(name[i]):
			add(i)
			from = i + 1
		case i > from && isUpper(name[i]) && isLower(name[i-1]):
			add(i)
			from = i
		}
	}
	add(len(name))
	return all
}

// goesOn reports whether a word that ends before a place goes on there.
func goesOn(text string, j int) bool {
	return isLower(text[j]) && isLetter(text[j-1]) || isUpper(text[j]) && isUpper(text[j-1])
}

// joins reports whether a dot or dash at a place joins two words.
func joins(text string, i int) bool {
	return (text[i] == '.' || text[i] == '-') && i+1 < len(text) && isWord(text[i+1])
}

func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return isLower(c) || isUpper(c) }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isLine(c byte) bool   { return c == '\n' || c == '\r' }

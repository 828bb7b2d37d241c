package logline

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Advice is what a program says is to be done about what it ends, or fails, for.
type Advice struct {
	// Text is that as it stands there, Brief what it comes to: empty where Text says what is wrong
	// as well, so that who has read it knows all.
	Text, Brief string
	// Looks is set where it is only to look at something, Removes where something is to be taken
	// away or made anew, Asks where it asks whether something else was meant.
	Looks, Removes, Asks bool
}

// Advice returns what the log advises about the reason that it gives; empty where it advises nothing.
func (s *Story) Advice() Advice {
	at := s.Primary()
	if at < 0 {
		return Advice{}
	}
	return s.adviceAt(s.origin(at))
}

// TroubleAdvice is the same of a program that goes on, see [Story.Trouble].
func (s *Story) TroubleAdvice(warned bool) Advice {
	at := s.troubles(warned)
	if at < 0 {
		return Advice{}
	}
	return s.adviceAt(at)
}

// mostBehind is how many lines below an error may still advise about it.
const mostBehind = 8

// adviceAt is what is advised about a line: below it, with it, or with the errors that it belongs to.
func (s *Story) adviceAt(at int) Advice {
	at = s.whole(at)
	own := AdviceIn(s.withNext(at))
	if s.lines[at].severity < Warning && !s.underHeadline(at) {
		return own
	}
	if below := s.adviceBelow(at); below.Text != "" && (own.Text == "" || own.Brief == "") {
		return below
	}
	if own.Text != "" {
		return own
	}
	all, leading := s.belonging(at)
	for i, text := range all[:max(0, leading-1)] {
		if leadsOn.MatchString(text) {
			text += " " + all[i+1]
		}
		if a := AdviceIn(text); a.Text != "" {
			return a
		}
	}
	return Advice{}
}

// underHeadline reports whether the next of what is said behind a line is headed as what is to be done.
func (s *Story) underHeadline(at int) bool {
	for i := at + 1; i < len(s.lines); i++ {
		if s.lines[i].severity != Empty {
			return headline.MatchString(s.lines[i].message)
		}
	}
	return false
}

// adviceBelow is what the lines right below one advise, as long as they go on with it.
func (s *Story) adviceBelow(at int) Advice {
	headed := headline.MatchString(s.lines[at].message)
	for i := at + 1; i < min(len(s.lines), at+1+mostBehind); i++ {
		l := &s.lines[i]
		switch {
		case l.severity == Empty:
			continue
		case headline.MatchString(l.message):
			headed = true
			continue
		case headed, l.said.Fits(furthers):
		case l.frame, l.said.Fits(poor):
			continue
		case usage.MatchString(l.message), l.mild(), l.said.Fits(access), l.logged && l.severity < Warning && l.severity != Parting:
			return Advice{}
		}
		if a := adviceOf(s.withNext(i), headed || !l.logged); a.Text != "" {
			return a
		}
	}
	return Advice{}
}

// withNext is what a line says, with those behind it where it ends before what it leads to, or in the
// midst of a sentence.
func (s *Story) withNext(i int) string {
	text := s.lines[i].message
	leads, listed := leadsOn.MatchString(text), false
	for n := 0; i+1 < len(s.lines) && n < mostReasons; i++ {
		next := &s.lines[i+1]
		switch {
		case next.message == "" || !next.logged && hasOnlyHead.MatchString(next.message):
			continue
		case leads && (n == 0 || item.MatchString(next.message) && listed):
		case next.frame:
			return text
		case !leads && !next.logged && next.text != next.trimmed && broken.MatchString(text) && unicode.IsLower(rune(next.message[0])):
		default:
			return text
		}
		text, n, listed = text+" "+next.message, n+1, item.MatchString(next.message)
	}
	return text
}

var (
	// leadsOn fits a line of which the next says what is to be done, or was meant.
	leadsOn = regexp.MustCompile(`(?i)(?:^|\W)(?:(?:run|use|running|execute|add|set|by|with|following|calling)[^:.]{0,60}:|did you mean(?: one of)?(?: th(?:is|ese))?\?:?)$`)
	// item fits one of a list, broken a line that ends in the midst of a sentence.
	item, broken = regexp.MustCompile(`^[-*•] `), regexp.MustCompile(`[\w,]$`)
	// usage fits the line above how a command is used.
	usage = regexp.MustCompile(`(?i)^(usage\b|(options|flags|commands|available commands|arguments|examples?|parameters):$)`)
	// headline fits a line above what is to be done, label what stands before that.
	headline = regexp.MustCompile(`(?i)^((actions?|(potential |possible )?(solutions?|fix(es)?)|resolution|remedy|hints?|to (fix|resolve|solve)\b[^:]*):|=+ ?hint:?)$`)
	label    = regexp.MustCompile(`(?i)^(?:[\w.-]+: )?(?:hint|tip|action|solution|fix|resolution|remedy|suggestion|help):\s+`)
)

// verbs are what people are told to do; after a few other words each is told with what is to be done
// to, so that it is no report of what is done.
const (
	verbs    = `(?:set|add|remove|delete|increase|raise|reduce|decrease|lower|install|upgrade|downgrade|update|configure|specify|provide|supply|rename|recreate|rebuild|reinstall|re-?initiali[sz]e|change|enable|disable|create|make|ensure|check|verify|use|run|execute|rerun|re-run|start|restart|stop|define|export|pass|give|grant|fix|correct|edit|replace|move|copy|mount|adjust|identify|review|inspect|initiali[sz]e|regenerate|renew|switch|allow|unset|drop|restore|repair|revert|choose|touch)`
	toWhat   = `(?:sure|the|an?|your|this|that|these|those|its|it|them|all|any|one|either|another|more|only|both|whether|if|at least|to|off|on|too many|[\x60'"“<$-]\S*|[A-Z][A-Z0-9_]{2,}|\S*[\w)][._/=-]\w\S*)(?:[\s,.:;!)]|$)`
	inFront  = `(?:(?:then|either|instead|otherwise|first|alternatively|perhaps|maybe|also|or),? |to [^,:.]{1,60}[,:] ?|if [^,.]{1,120}, (?:then )?)*`
	politely = `(?:please (?:also |either |first )?[a-z]\w+\b|consider (?:\w+ing|the|an?)\b|try (?:to \w|\w+ing\b|an?other\b))`
	youDo    = `(?:you (?:can|could|should|must|may|might|need to|have to|(?:probably |may |might |will )(?:need|want|have) to)(?: either| also| instead| first)? [a-z]\w+\b|(?:perhaps |maybe )you (?:need|want|forgot) to [a-z]\w+\b)`
	asked    = `(?:did you (?:mean|forget)\b|(?:perhaps|maybe) you meant\b|you (?:may|might) have meant\b)`
)

var (
	// tells fits a sentence, or the rest of one, that tells somebody to do something, orders one that
	// does so with no word but the verb, hints such a one under a label that says that it does.
	tells  = regexp.MustCompile(`^(?i:` + inFront + `(?:` + politely + `|` + youDo + `|` + asked + `))`)
	orders = regexp.MustCompile(`^(?i:` + inFront + verbs + `(?:,? (?:and|or|then) ` + verbs + `)?):? ` + `(?i:` + inFront + `)` + toWhat)
	hints  = regexp.MustCompile(`^(?i:` + inFront + verbs + `(?:,? (?:and|or|then) ` + verbs + `)?) \S`)
	// wanted fits what tells how something has to be.
	wanted = regexp.MustCompile(`(?i)\b(?:should|must|needs? to|has to|have to) (?:also |either |first )?be\b`)
	// clauses fits what stands before the rest of a sentence that may tell what to do, pleads what begins
	// to tell it anywhere.
	clauses = regexp.MustCompile(`: |; | -+ | — `)
	pleads  = regexp.MustCompile(`(?i)(?:, | and |[ (])(did you mean\b)|(?:, | and )(please \w+|consider \w+ing\b|(?:so )?make sure\b|increase to\b|you (?:must|should|need to|have to) )`)
	// reports fits what tells of what was done, and not of what to do.
	reports = regexp.MustCompile(`(?i)\b(?:fail(?:ed|s|ure|ing)|errors?|denied|refused|exception|timed? ?out|not found|unsuccessful(?:ly)?|succeeded|done|completed?|finished)\b`)
	// idle fits what tells nobody what to do about it: to wait, to ask, to read, to have it say more;
	// and what is no advice.
	idle = regexp.MustCompile(`(?i)(?:^|please |then |, |can |could |should |must |may )(?:try|retry)(?: \w+){0,3} (?:again|later)\b|\bwait (?:for )?(?:a (?:few|moment|second|minute|while)|until)\b` +
		`|\bplease (?:wait|retry|note|find|be patient|stand by|hold|see|visit|read|refer|enter|log ?in|sign ?in|contact|report|file|open an issue|ignore|support|star|donate)\b` +
		`|--help\b|\bfor (?:more|further|additional|full|detailed)\b|\bmore (?:information|details?|help|info)\b|\bdocumentation\b|\bmanual\b|\bfaq\b|\bread ?me\b|^(?:see|visit|read|refer|consult|contact|wait|retry|get help|ask for help)\b` +
		`|\b(?:report|file) (?:this|a|the|it|any)\b|\bbugs?\b|\bcontact (?:your|the|us|support)\b|\b(?:check|see|review|inspect|examine|consult) (?:(?:the|your|its|for|any|all|above|below|previous|following) )*(?:\w+ ){0,2}(?:logs?|log ?files?|messages?|output|console|stack ?trace|errors?)\b` +
		`|--(?:verbose|debug|stack-?trace|trace|show-stack|info\b|scan\b|log-?level)|\bRUST_BACKTRACE|\bNODE_DEBUG\b|\benable (?:debug|verbose|trace)|\bto (?:show|see|view|get|display|hide|suppress|silence|ignore) (?:\w+ )*(?:this|these|the|more|stack|where|warnings?|all)\b` +
		`|\bctrl\b|\byou can(?:not| not)?\b(?: now| safely| also| then)? (?:find|see|view|connect|access|visit|ignore|close|browse|get|read|learn|disregard|reproduce|now|safely|not)\b|\byou can ?not\b|\byou (?:should|could|may|might|must) (?:not|now|have|see|be able|already|notice|find|get|receive|safely|want to (?:see|read|look))\b` +
		`|\bignored?\b|\bdeprecat|\bin (?:a|the next|the) future\b|\bfuture (?:release|version)|\bwill be removed\b|\bnpm (?:fund|audit)\b|\buse the default|\b(?:do|don't|did) nothing\b|\bthe following (?:\W*\d*\W*)?lines\b|: \d\.$`)
	// looks fits advice that is only to look, removes what takes something away, or may.
	looks   = regexp.MustCompile(`^(?i:` + inFront + `(?:please |you (?:should|must|can|need to|may want to|might want to) )?)(?i:(?:double-?)?check|verify|make sure|ensure|review|inspect|confirm)\b`)
	removes = regexp.MustCompile(`(?i)\b(?:remov(?:e|ing)|delet(?:e|ing)|drop(?:ping)?|wip(?:e|ing)|eras(?:e|ing)|purg(?:e|ing)|truncat(?:e|ing)|reformat|recreat(?:e|ing)|re-?initiali[sz](?:e|ing)|overwrit(?:e|ing)|discard|force|pg_reset\w+|initdb|rm -\w+)\b|--(?:fix|force|repair|reset|clean|wipe)\b|resetlogs`)
	asks    = regexp.MustCompile(`(?i)` + asked)
	only    = regexp.MustCompile(`^\W*(?:https?://|www\.)\S+$`)
	// opening fits what may stand before what is to be done, and says nothing of it.
	opening = regexp.MustCompile(`^(?i:(?:then|either|instead|otherwise|alternatively|perhaps|maybe|also),? )?(?i:please (?:also )?|you (?:can|could|should|must|need to|have to|(?:probably |may |might |will )(?:need|want|have) to) )?`)
)

// mostAdvice is how long advice may be: of more nobody knows what it comes to.
const mostAdvice = 320

// thrown fits a cause in a stack, by the class of the error.
var thrown = regexp.MustCompile(`^(?:Caused by: )?(?:\w+\.)+\w*(?:Exception|Error): `)

// AdviceIn is what the sentences of a message advise.
func AdviceIn(message string) Advice { return adviceOf(message, false) }

// adviceOf is the same where, if it is free, the whole message may be what is to be done, and no report.
func adviceOf(message string, free bool) Advice {
	if thrown.MatchString(message) {
		free = false // how a library says what it was given wrongly is no step
	}
	labelled := label.MatchString(message)
	sentences := sentencesOf(label.ReplaceAllString(message, ""))
	for i, one := range sentences {
		brief, ok := advises(one, free || labelled || i > 0, labelled)
		if !ok || idle.MatchString(one) {
			continue
		}
		if before, _ := strings.CutSuffix(one, brief); brief != "" && !strings.Contains(strings.TrimSpace(before), " ") {
			one = brief // behind a level, or a class
		}
		rest := append([]string{one}, sentences[i+1:]...)
		for n := len(rest) - 1; n > 0 && (idle.MatchString(rest[n]) || only.MatchString(rest[n])); n-- {
			rest = rest[:n]
		}
		text := strings.Join(rest, " ")
		if strings.HasSuffix(text, `"`) && strings.Count(text, `"`) == 1 {
			text, brief = text[:len(text)-1], strings.TrimSuffix(brief, `"`) // the end of what it is in
		}
		if len(text) > mostAdvice {
			return Advice{}
		}
		return Advice{Text: text, Brief: opened(brief), Removes: removes.MatchString(text), Asks: asks.MatchString(one), Looks: looks.MatchString(brief)}
	}
	return Advice{}
}

// advises reports whether a sentence, or the end of one, tells what to do, and which part of it does.
func advises(one string, free, labelled bool) (brief string, ok bool) {
	ordered := func(text string) bool {
		verb, _, _ := strings.Cut(text, " ")
		return verb != strings.ToUpper(verb) && orders.MatchString(text) && !reports.MatchString(text) && !systems.MatchString(text)
	}
	if tells.MatchString(one) || free && ordered(one) || labelled && hints.MatchString(one) {
		return one, true
	}
	for _, at := range clauses.FindAllStringIndex(one, -1) {
		before, rest := one[:at[0]], one[at[1]:]
		if tells.MatchString(rest) || ordered(rest) && strings.Contains(before, " ") && !strings.Contains(rest, ": ") {
			return rest, true
		}
	}
	if at := pleads.FindStringSubmatchIndex(one); at != nil {
		return one[max(at[2], at[4]):], true
	}
	return "", free && wanted.MatchString(one)
}

// justAdvice reports whether a line is nothing but what is to be done.
func justAdvice(gist string) bool {
	return tells.MatchString(gist) || orders.MatchString(gist) && !reports.MatchString(gist) && !systems.MatchString(gist)
}

// opened is advice without the words that only lead to it.
func opened(brief string) string {
	short := brief[len(opening.FindString(brief)):]
	if r := []rune(short); len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) {
		r[0] = unicode.ToLower(r[0])
		short = string(r)
	}
	return strings.TrimRight(short, ".! ")
}

// sentencesOf takes a message apart behind full stops and their like.
func sentencesOf(message string) (all []string) {
	from := 0
	for i := 1; i+1 < len(message); i++ {
		end := message[i] == '.' || message[i] == '!' || message[i] == '?'
		if !end || message[i+1] != ' ' {
			continue
		}
		rest := strings.TrimLeft(message[i+1:], " ")
		if r, _ := utf8.DecodeRuneInString(rest); rest != "" && !unicode.IsLower(r) {
			all, from = append(all, strings.TrimSpace(message[from:i+1])), i+1
		}
	}
	if last := strings.TrimSpace(message[from:]); last != "" {
		all = append(all, last)
	}
	return all
}

package redact

import (
	"regexp"
	"strings"
)

// shape is a kind of token that its first characters tell.
type shape struct {
	prefix string
	// least and most bound what follows; most 0: no bound.
	least, most int
	fits        func(rest string) bool
}

// shapes are the prefixes that the issuers document, RFC 7519's first: "eyJ" is base64 of the beginning of a
// JSON object.
var shapes = slicesOf(
	shape{"eyJ", 16, 0, isJWT},
	shape{"AKIA", 16, 16, isUpperCode}, shape{"ASIA", 16, 16, isUpperCode}, shape{"ABIA", 16, 16, isUpperCode}, shape{"ACCA", 16, 16, isUpperCode}, // AWS
	shape{"AIza", 35, 0, hasDigit},
	shape{"EAAA", 40, 0, hasDigit},
	shape{"SG.", 40, 0, hasDigit},
	shape{"SK", 32, 32, isHex},
	shape{"key-", 32, 32, isHex},
	shape{"dapi", 32, 34, isHex},
	shape{"LTAI", 17, 21, hasDigit},
	shape{"PMAK-", 40, 0, hasDigit},
	shape{"oy2", 43, 43, hasDigit},
	shape{"pat", 60, 0, hasDigit},
	shape{"sl.", 60, 0, hasDigit},
	shape{"cmVmd", 50, 0, hasDigit},
	shape{"1//0", 30, 0, hasDigit},
	shape{"amzn.mws.", 30, 0, hasDigit},
	shape{"AGE-SECRET-KEY-1", 40, 0, hasDigit},
	shape{"sha256~", 30, 0, hasDigit},
	ofAtLeast(30, `ghp_ gho_ ghu_ ghs_ ghr_ hf_ api_org_ r8_ lin_api_ lin_oauth_ ntn_ figd_ CFPAT- AKCp ATATT3 ATCTT3 ATBB BBDC- dt0c01. dt0s01.
		NRAK- NRJS- NRIQ- NRII- NRRA- glsa_ glc_ sntrys_ sntryu_ rubygems_ CLOJARS_ EZAK EZTK xkeysib- xsmtpsib- duffel_live_ duffel_test_
		nvapi- sbp_ phx_ GR1348941 tfp_ pul- pnu_ sgp_ CCIPAT_ CIRCLE_ rdme_ ABSK pplx- gsk_ xai- secret_ ABSKQ FlyV1 fm1r_ fm2_ fo1_
		bkua_ zpka_ HRKU- shippo_live_ shippo_test_ SCW aio_ settlemint_ lsv2_pt_ lsv2_sk_ tvly- fc- AC_ ory_at_ ory_rt_ ory_st_ s-s4t2`),
	shape{":AA", 32, 34, isMixed}, // Telegram, behind the number of a bot
	ofAtLeast(20, `github_pat_ glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glagent- glsoat- glimt- gloas- glffct- sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or- sk- hvs.
		hvb. hvr. npm_ dckr_pat_ dckr_oat_ ya29. whsec_ sk_test_ sk_live_ rk_test_ rk_live_ sk_prod_ pypi-AgE pypi-AgEN shpat_ shpss_ shppa_ shpca_ sq0atp- sq0csp-
		dop_v1_ doo_v1_ dor_v1_ dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit. tskey- pscale_tkn_ pscale_pw_ pscale_oauth_ GOCSPX- waka_
		frpair_ ico- prefect_ sonar_ sqp_ squ_ sqa_ FLWSECK- FLWSECK_TEST- sandbox_ p8e- cio- rzp_live_ rzp_test_ ltai_ gto_ vc_ vck_
		vercel_ postman_ rnd_ ubio_ v1.0- plaid_ access-sandbox- access-production- access-development- live_ test_ keychain_ ATTA`),
	slack(`xoxa- xoxb- xoxp- xoxr- xoxs- xoxe- xoxe. xoxc- xoxd- xapp- xwfp-`),
)

// slicesOf joins single shapes and lists of them.
func slicesOf(all ...any) (list []shape) {
	for _, one := range all {
		switch one := one.(type) {
		case shape:
			list = append(list, one)
		case []shape:
			list = append(list, one...)
		}
	}
	return list
}

// ofAtLeast makes shapes of prefixes that so many characters follow, a digit among them or letters of both
// cases.
func ofAtLeast(least int, prefixes string) (list []shape) {
	for _, p := range strings.Fields(prefixes) {
		list = append(list, shape{p, least, 0, isToken})
	}
	return list
}

// slack makes shapes of prefixes that nothing but tokens has.
func slack(prefixes string) (list []shape) {
	for _, p := range strings.Fields(prefixes) {
		list = append(list, shape{p, 10, 0, isMixed})
	}
	return list
}

// shaped masks a token of a shape.
func (s *scanner) shaped(i int, m mark) {
	from := i + len(m.text)
	if m.text[0] == ':' {
		number := i
		for i > 0 && isDigit(s.text[i-1]) {
			i--
		}
		if number-i < 8 {
			return
		}
	} else if i > 0 && isWord(s.text[i-1]) && (i < 2 || s.text[i-2] != '\\') {
		return
	}
	to := from
	for to < len(s.text) && inToken[s.text[to]] {
		to++
	}
	rest := strings.TrimRight(s.text[from:to], ".")
	if len(rest) < m.tok.least || m.tok.most > 0 && len(rest) > m.tok.most || !m.tok.fits(rest) {
		return
	}
	s.mask(i, from+len(rest))
}

// schemes are those of the Authorization header, in lower case.
var schemes = []string{"bearer", "basic", "negotiate", "ntlm", "apikey", "digest", "hawk"}

// isScheme reports whether a word is such a scheme, in any case.
func isScheme(word string) bool {
	word = strings.ToLower(strings.TrimSuffix(word, ":"))
	switch word {
	case "token", "bot", "aws4-hmac-sha256", "signature", "key":
		return true
	}
	for _, s := range schemes {
		if s == word {
			return true
		}
	}
	return false
}

// credentials masks what follows a scheme.
func (s *scanner) credentials(i, from int) {
	if i > 0 && isLetter(s.text[i-1]) {
		return
	}
	to := from
	for to < len(s.text) && inToken[s.text[to]] {
		to++
	}
	rest := strings.TrimRight(s.text[from:to], ".")
	if looksSecret(rest, 12) && !isObject(rest) {
		s.mask(from, from+len(rest))
	}
}

// privateKey is a block of RFC 7468, or what is left of one whose end or beginning
// was cut off. It may be in one line, with its newlines escaped.
var privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)` +
	`|(?:[\w+/=]{16,76}(?:\\n|\s)+)*[\w+/=]*(?:\\n|\s)*-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----`)

// pem masks the private keys of a text.
func (s *scanner) pem(i int) {
	before := s.text[max(s.done, i-40):i]
	if !strings.Contains(before, "-----BEGIN ") && !strings.Contains(before, "-----END ") {
		return
	}
	for _, m := range privateKey.FindAllStringIndex(s.text, -1) {
		if m[1] > s.done {
			s.mask(m[0], m[1])
		}
	}
}

func hasDigit(rest string) bool { return strings.ContainsAny(rest, "0123456789") }

func isMixed(rest string) bool {
	return hasDigit(rest) || strings.ToLower(rest) != rest && strings.ToUpper(rest) != rest
}

// isToken reports whether what follows a prefix is random, and neither the rest of an object's name nor of a
// function's: "sk-worker-7d9f8b6c5-x2x4z", "test_checkout_with_2_items".
func isToken(rest string) bool {
	longest := 0
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		longest = max(longest, len(part))
	}
	return isMixed(rest) && (longest > 16 || longest == len(rest) || strings.ToLower(rest) != rest)
}

func isUpperCode(rest string) bool {
	return rest == strings.ToUpper(rest) && !strings.ContainsAny(rest, "-.~+/=_")
}

func isHex(rest string) bool { return strings.Trim(rest, "0123456789abcdef") == "" }

// isJWT: three parts or more, or two of JSON where the end was cut off.
func isJWT(rest string) bool {
	return strings.Count(rest, ".") >= 2 || strings.Contains(rest, ".eyJ")
}

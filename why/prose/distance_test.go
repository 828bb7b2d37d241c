package prose

import "testing"

func TestNearest(t *testing.T) {
	all := []string{"app-config", "web", "wget", "db-password", "settings"}
	for name, want := range map[string]string{
		"app-confg": "app-config", "wbe": "web", "wge": "wget", "DB-PASSWORD": "db-password", "web": "", "quite-different": "", "": "", "x": "",
	} {
		if got := Nearest(name, all); got != want {
			t.Errorf("%q is taken for %q, and not %q", name, got, want)
		}
	}
}

package runtime

import (
	"encoding/json"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// The profile has all of pauseCalls, of which a misspelt one would be missing in silence,
// and nothing else.
func TestPauseProfile(t *testing.T) {
	text, err := pauseProfile()
	if err != nil {
		t.Fatal(err)
	}
	var profile specs.LinuxSeccomp
	if err := json.Unmarshal(text, &profile); err != nil {
		t.Fatal(err)
	}
	if profile.DefaultAction != specs.ActErrno || len(profile.Architectures) != 0 {
		t.Errorf("what is not named: %s, on %v as well", profile.DefaultAction, profile.Architectures)
	}
	var named []string
	for _, rule := range profile.Syscalls {
		named = append(named, rule.Names...)
	}
	for _, call := range pauseCalls {
		if !slices.Contains(named, call) && (call != "arch_prctl" || goruntime.GOARCH == "amd64") {
			t.Errorf("%s is not in the profile", call)
		}
	}
	for _, call := range named {
		if !slices.Contains(pauseCalls, call) {
			t.Errorf("%s is in the profile", call)
		}
	}
}

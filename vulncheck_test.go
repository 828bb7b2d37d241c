package whylet_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestVulnerabilitiesNotChecked: where govulncheck's database is away that is said, and fails
// where somebody relies on it.
func TestVulnerabilitiesNotChecked(t *testing.T) {
	for require, fails := range map[string]bool{"": false, "1": true} {
		for _, programs := range [][]string{nil, {"bin/whylet", "bin/client/kubectl-why"}} {
			cmd := exec.CommandContext(t.Context(), "tools/vulncheck", append([]string{"no_btrfs"}, programs...)...)
			cmd.Env = append(os.Environ(), "GOVULNDB=https://127.0.0.1:1", "WHYLET_REQUIRE_VULNCHECK="+require)
			out, err := cmd.CombinedOutput()
			if (err != nil) != fails || !strings.Contains(string(out), "VULNERABILITIES WERE NOT CHECKED") {
				t.Errorf("required %q: %v\n%s", require, err, out)
			}
			for _, program := range programs {
				if !strings.Contains(string(out), "# not checked: "+program+"\n") {
					t.Errorf("%s is not named:\n%s", program, out)
				}
			}
		}
	}
}

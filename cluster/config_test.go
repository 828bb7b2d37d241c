package cluster

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func valid(dir string) Config {
	return Config{DataDir: dir, NodeName: "n1", NodeIP: "192.0.2.7"}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		// want is what the message must name; empty: valid.
		want string
	}{
		{"defaults", func(*Config) {}, ""},
		{"every address", func(c *Config) { c.APIAddress = "0.0.0.0" }, ""},
		{"relative directory", func(c *Config) { c.DataDir = "data" }, "absolute path"},
		{"no directory", func(c *Config) { c.DataDir = "" }, "absolute path"},
		{"directory too long for sockets", func(c *Config) { c.DataDir = "/" + strings.Repeat("x", 90) }, "choose a shorter one"},
		{"no node name", func(c *Config) { c.NodeName = "" }, `node name ""`},
		{"upper case node name", func(c *Config) { c.NodeName = "Node" }, `node name "Node"`},
		{"no node IP", func(c *Config) { c.NodeIP = "" }, "node IP"},
		{"IPv6 node", func(c *Config) { c.NodeIP = "2001:db8::1" }, "IPv4"},
		{"API address is a name", func(c *Config) { c.APIAddress = "localhost" }, "API address"},
		{"port out of range", func(c *Config) { c.APIPort = 70000 }, "API port 70000"},
		{"link-local host address", func(c *Config) { c.HostAddress = "169.254.20.10" }, "host address"},
		{"loopback host address", func(c *Config) { c.HostAddress = "127.0.0.5" }, "host address"},
		{"overlapping ranges", func(c *Config) { c.ServiceCIDR = "10.42.128.0/20" }, "overlap"},
		{"range with host bits", func(c *Config) { c.PodCIDR = "10.42.1.0/16" }, "pod range"},
		{"service range too small", func(c *Config) { c.ServiceCIDR = "10.43.0.0/29" }, "/28"},
		{"host address among Services", func(c *Config) { c.HostAddress = "10.43.0.99" }, "choose other ranges"},
		{"node among pods", func(c *Config) { c.NodeIP = "10.42.0.9" }, "choose other ranges"},
		{"bad domain", func(c *Config) { c.ClusterDomain = "cluster_local" }, "cluster domain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := valid("/var/lib/whylet")
			tc.change(&c)
			err := c.Validate()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && err == nil:
				t.Errorf("accepted, want an error that names %q", tc.want)
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("error %q does not name %q", err, tc.want)
			}
		})
	}
}

func TestValidateTellsEverythingAtOnce(t *testing.T) {
	err := Config{DataDir: "x", NodeName: "X", NodeIP: "x", PodCIDR: "x"}.Validate()
	for _, want := range []string{"data directory", "node name", "node IP", "pod range"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %q", err, want)
		}
	}
}

// TestValidateNeverPanics feeds any text into every field: what Validate accepts,
// the accessors must be able to use.
func TestValidateNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", "10.0.0.1", "10.0.0.0/8", "10.43.0.0/16", "0.0.0.0", "::", "::/0", "fd00::/112", "n1", "/data",
		}))
		c := Config{
			DataDir: text.Draw(t, "dir"), NodeName: text.Draw(t, "node"), NodeIP: text.Draw(t, "ip"),
			APIAddress: text.Draw(t, "api"), APIPort: rapid.Int().Draw(t, "port"), HostAddress: text.Draw(t, "host"),
			PodCIDR: text.Draw(t, "pods"), ServiceCIDR: text.Draw(t, "services"), ClusterDomain: text.Draw(t, "domain"),
		}
		if c.Validate() == nil {
			c = c.withDefaults()
			_, _, _ = c.server(), c.serviceIP(dnsIndex), certHosts(c)
			if _, err := objects(c); err != nil {
				t.Fatalf("valid, but its objects cannot be made: %v", err)
			}
		}
	})
}

func TestAddressesOfAConfig(t *testing.T) {
	c := valid("/d").withDefaults()
	if got := c.server(); got != "https://127.0.0.1:6443" {
		t.Errorf("server is %s", got)
	}
	if got := c.serviceIP(dnsIndex).String(); got != "10.43.0.10" {
		t.Errorf("DNS is at %s", got)
	}
	c.APIAddress, c.APIPort = "::", 7443
	if got := c.server(); got != "https://[::1]:7443" {
		t.Errorf("server on every address is %s", got)
	}
}

package words

import "testing"

func TestMayBeSecret(t *testing.T) {
	for setting, secret := range map[[2]string]bool{
		{"variable DB_PASSWORD", "x"}: true, {"STRIPE_KEY", "x"}: true, {"--auth", "x"}: true, {"ACCESSKEY", "x"}: true,
		{"DATABASE_URL", "postgres://shop:geheim@db/shop"}: true, {"DATABASE_URL", "postgres://db/shop"}: false,
		{"JAVA_TOOL_OPTIONS", "-Dcom.sun.management.jmxremote.authenticate=false"}: false, {"KEYSTONE_HOST", "a"}: false,
		{"AUTHOR", "me"}: false, {"--data-dir", "/data"}: false,
	} {
		if MayBeSecret(setting[0], setting[1]) != secret {
			t.Errorf("%q", setting)
		}
	}
}

func FuzzMayBeSecret(f *testing.F) {
	f.Add("DATABASE_URL", "postgres://shop:geheim@db/shop")
	f.Fuzz(func(_ *testing.T, name, value string) { MayBeSecret(name, value) })
}

package logline

import "testing"

func TestContextPath(t *testing.T) {
	for line, want := range map[string]string{
		"Tomcat started on port 8080 (http) with context path '/operate'":                                                                                             "/operate",
		"Tomcat started on port(s): 8080 (http) with context path ''":                                                                                                 "",
		"INFO [main] org.apache.catalina.startup.HostConfig.deployDirectory Deploying web application directory [/data/tomcat/webapps/operate]":                       "/operate",
		"INFO [main] org.apache.catalina.startup.HostConfig.deployWAR Deployment of web application archive [/usr/local/tomcat/webapps/shop.war] has finished in [9]": "/shop",
		"INFO [main] org.apache.catalina.startup.HostConfig.deployDirectory Deploying web application directory [/data/tomcat/webapps/ROOT]":                          "",
		"base path: /api/v1":  "/api/v1",
		"listening on /tmp/x": "",
	} {
		if got := ContextPath(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzContextPath(f *testing.F) {
	f.Add("with context path '/operate'")
	f.Fuzz(func(t *testing.T, line string) {
		if at := ContextPath(line); at != "" && at[0] != '/' {
			t.Errorf("%q: %q", line, at)
		}
	})
}

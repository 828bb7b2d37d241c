package logline

import "regexp"

// proxied is what nginx tells of a request beside its upstream.
var proxied = regexp.MustCompile(`, (client|server|request|host|referrer): (\"[^\"]*\"|[^,]*)`)

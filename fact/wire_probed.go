package fact

import (
	"slices"
	"strconv"
	"time"
)

// Most facts of most nodes are probe attempts, hundreds a second on a full one, so
// their body is written by hand as well.

// appendJSON appends what encoding/json makes of p.
func (p Probed) appendJSON(b []byte, failed *error) []byte {
	b = appendString(append(b, `{"probe":`...), string(p.Probe))
	b = appendString(append(b, `,"verdict":`...), string(p.Verdict))
	b = appendText(b, `,"message":`, p.Message)
	b = strconv.AppendInt(append(b, `,"took":`...), int64(p.Took), 10)
	if p.Evidence != nil {
		b = p.Evidence.appendJSON(append(b, `,"evidence":`...))
	}
	b = appendInt(b, `,"late":`, int64(p.Late))
	b = appendInt(b, `,"count":`, p.Count)
	if !p.Until.IsZero() {
		b = appendTime(append(b, `,"until":`...), p.Until, failed)
	}
	for i, n := range p.Latency {
		if i == 0 {
			b = append(b, `,"latency":[`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	if len(p.Latency) > 0 {
		b = append(b, ']')
	}
	b = appendText(b, `,"by":`, string(p.By))
	return append(b, '}')
}

func (e *Evidence) appendJSON(b []byte) []byte {
	b = appendString(append(b, `{"handler":`...), string(e.Handler))
	b = appendString(append(b, `,"target":`...), e.Target)
	b = appendText(b, `,"local":`, e.Local)
	b = appendText(b, `,"remote":`, e.Remote)
	for _, phase := range [...]struct {
		key  string
		took time.Duration
	}{
		{`,"connect":`, e.Connect}, {`,"tls":`, e.TLS}, {`,"sent":`, e.Sent}, {`,"firstByte":`, e.FirstByte}, {`,"body":`, e.Body},
	} {
		b = appendInt(b, phase.key, int64(phase.took))
	}
	b = appendText(b, `,"redirected":`, e.Redirected)
	b = appendInt(b, `,"status":`, int64(e.Status))
	b = appendText(b, `,"proto":`, e.Proto)
	if len(e.Header) > 0 {
		b = append(b, `,"header":{`...)
		names := make([]string, 0, 16)
		for name := range e.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(appendString(b, name), ':'), e.Header[name])
		}
		b = append(b, '}')
	}
	b = appendText(b, `,"output":`, e.Output)
	if e.ExitCode != nil {
		b = strconv.AppendInt(append(b, `,"exitCode":`...), int64(*e.ExitCode), 10)
	}
	if e.Timeout {
		b = append(b, `,"timeout":true`...)
	}
	b = appendText(b, `,"error":`, e.Error)
	b = appendText(b, `,"errno":`, e.Errno)
	return append(b, '}')
}

package probe

import (
	"net"
	"time"

	"whylet.dev/whylet/fact"
)

// tcpSocket connects the long way, for hosts that are names.
func (p *Prober) tcpSocket(pl *plan, timeout time.Duration) outcome {
	ev := pl.newEvidence()
	began := time.Now()
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(p.ctx, "tcp", pl.address)
	if err != nil {
		noteError(ev, err)
		return outcome{verdict: fact.Failure, message: err.Error(), evidence: ev}
	}
	ev.Connect = time.Since(began)
	ev.Local, ev.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	_ = conn.Close() // nothing was sent that could be lost
	return outcome{verdict: fact.Success, evidence: ev}
}

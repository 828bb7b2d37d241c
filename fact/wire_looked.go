package fact

import "time"

// looked reads the body of a look, to its end.
func (s *scanner) looked(b *Looked) bool {
	s.must(`{"pid":`)
	b.PID = int(s.signed())
	b.State, b.Processes = s.text(`,"state":`, "S", "R"), int(s.number(`,"processes":`))
	b.Commands = list(s, `,"commands":[`, s.word)
	b.CPUUsed, b.Over = s.span(`,"cpuUsed":`), s.span(`,"over":`)
	b.Listeners = list(s, `,"listeners":[`, s.listener)
	b.CPUTotal, b.Age, b.MaxCPU = s.span(`,"cpuTotal":`), s.span(`,"age":`), s.span(`,"maxCPU":`)
	if s.have(`,"files":{"pid":`) {
		b.Files = s.files()
	}
	if s.have(`,"stopped":{"pid":`) {
		b.Stopped = &StoppedProcess{PID: int(s.signed()), Command: s.text(`,"command":`), State: s.needed(`,"state":`)}
		s.must(`}`)
	}
	b.Dialing, b.Open = list(s, `,"dialing":[`, s.dial), list(s, `,"open":[`, s.dial)
	b.Lately, b.From = list(s, `,"lately":[`, s.word), list(s, `,"from":[`, s.word)
	b.Said, b.SaidAt = list(s, `,"said":[`, s.word), list(s, `,"saidAt":[`, s.time)
	b.Calm, b.Error = s.have(`,"calm":true`), s.text(`,"error":`)
	return s.over()
}

// list reads the elements of an array behind a key; nil without that key.
func list[T any](s *scanner, key string, one func() T) (all []T) {
	for more := s.have(key); more && !s.bad; {
		all = append(all, one())
		if more = s.have(`,`); !more {
			s.must(`]`)
		}
	}
	return all
}

func (s *scanner) listener() (l Listener) {
	s.must(`{"address":`)
	l.Address = s.quoted()
	l.PID, l.Command, l.State = int(s.number(`,"pid":`)), s.text(`,"command":`), s.text(`,"state":`, "S", "R")
	l.Other = s.have(`,"other":true`)
	l.Backlog, l.Taken = int(s.number(`,"backlog":`)), int(s.number(`,"taken":`))
	l.Paused, l.V6Only = s.have(`,"paused":true`), s.have(`,"v6Only":true`)
	s.must(`}`)
	return l
}

func (s *scanner) dial() (d Dial) {
	s.must(`{"remote":`)
	d.Remote = s.quoted()
	d.PID, d.Command = int(s.number(`,"pid":`)), s.text(`,"command":`)
	d.Other = s.have(`,"other":true`)
	d.Unanswered, d.Heard = s.span(`,"unanswered":`), s.span(`,"heard":`)
	s.must(`}`)
	return d
}

// files reads on behind the pid.
func (s *scanner) files() *Files {
	f := &Files{PID: int(s.signed()), Command: s.text(`,"command":`)}
	s.must(`,"open":`)
	f.Open = int(s.signed())
	s.must(`,"limit":`)
	f.Limit = int(s.signed())
	f.Most = int(s.number(`,"most":`))
	s.must(`}`)
	return f
}

func (s *scanner) word() string { return s.quoted() }

// needed is the string behind a key that must be there.
func (s *scanner) needed(key string) string {
	s.must(key)
	return s.quoted()
}

func (s *scanner) span(key string) time.Duration { return time.Duration(s.number(key)) }

package fact

import (
	"encoding/json"
	"math"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A question about one pod reads all of its facts, and reflection took half of the
// answer's time. So what AppendJSON has written is read by hand, in the order in which it
// was written; wherever something else stands, encoding/json reads all of it.

// scan reads a fact of a known kind into w and v, which points to its body; false where
// encoding/json has to. Strings that f has already are not copied.
func (f *Fact) scan(w *wire, v reflect.Value, kind Kind, data []byte) bool {
	s := scanner{b: data}
	body, ok := s.envelope(w, f)
	switch {
	case !ok || w.Kind != kind:
		return false
	case body == nil:
		return true
	case body[0] != '{':
		return false
	}
	s = scanner{b: body}
	switch b := v.Interface().(type) {
	case *Probed:
		ok = s.probed(b)
	case *Sampled:
		ok = s.sampled(b)
	case *Looked:
		ok = s.looked(b)
	case *Created:
		ok = s.created(b)
	case *Marked:
		ok = s.marked(b)
	case *Kill:
		ok = s.kill(b)
	case *BackOff:
		ok = s.backOff(b)
	case *SetCondition:
		ok = s.condition(&b.Condition)
	default:
		ok = false
	}
	if !ok {
		v.Elem().SetZero() // of what was read before something else stood there
		return json.Unmarshal(body, v.Interface()) == nil
	}
	return true
}

// scanner takes what is expected off the front of b; after the first thing that is not
// there bad is set.
type scanner struct {
	b   []byte
	bad bool
}

// envelope reads all but the body, and gives what stands in its place; nil where the fact
// has none.
func (s *scanner) envelope(w *wire, like *Fact) (body []byte, ok bool) {
	s.must(`{"id":`)
	w.ID = ID(s.unsigned())
	if s.have(`,"at":`) {
		w.At = s.time()
	}
	s.must(`,"seen":`)
	w.Seen = s.time()
	w.Mono = time.Duration(s.number(`,"mono":`))
	w.Boot = s.text(`,"boot":`, like.Boot)
	if s.have(`,"pod":{`) {
		w.Pod = s.pod(like.Pod)
	}
	w.Container = s.text(`,"ctr":`, like.Container)
	try := s.number(`,"try":`)
	w.Attempt = int32(try)
	if s.have(`,"because":[`) {
		w.Because = s.ids()
	}
	s.must(`,"kind":`)
	w.Kind = Kind(s.quoted())
	end := len(s.b) - 1
	switch {
	case s.bad || try != int64(w.Attempt) || end < 0 || s.b[end] != '}':
		return nil, false
	case end == 0:
		return nil, true
	case s.have(`,"body":`) && len(s.b) > 1:
		return s.b[:len(s.b)-1], true
	}
	return nil, false
}

func (s *scanner) pod(like Pod) (p Pod) {
	first := true
	member := func(key, like string) string {
		if first {
			key = key[1:] // no comma before it
		}
		before := len(s.b)
		text := s.text(key, like)
		first = first && len(s.b) == before
		return text
	}
	p.Namespace = member(`,"namespace":`, like.Namespace)
	p.Name = member(`,"name":`, like.Name)
	p.UID = types.UID(member(`,"uid":`, string(like.UID)))
	s.must(`}`)
	return p
}

func (s *scanner) ids() (all []ID) {
	for {
		all = append(all, ID(s.unsigned()))
		if s.bad || !s.have(`,`) {
			s.must(`]`)
			return all
		}
	}
}

// probed reads the body of a probe attempt, to its end.
func (s *scanner) probed(p *Probed) bool {
	s.must(`{"probe":`)
	p.Probe = ProbeKind(s.quoted(string(Liveness), string(Readiness), string(Startup)))
	s.must(`,"verdict":`)
	p.Verdict = Verdict(s.quoted(string(Success), string(Failure)))
	p.Message = s.text(`,"message":`)
	s.must(`,"took":`)
	p.Took = time.Duration(s.signed())
	if s.have(`,"evidence":`) {
		p.Evidence = s.evidence()
	}
	p.Late = time.Duration(s.number(`,"late":`))
	p.Count = s.number(`,"count":`)
	if s.have(`,"until":`) {
		p.Until = s.time()
	}
	for more := s.have(`,"latency":[`); more && !s.bad; {
		p.Latency = append(p.Latency, s.signed())
		if more = s.have(`,`); !more {
			s.must(`]`)
		}
	}
	p.By = ProbedBy(s.text(`,"by":`, string(ByTap), string(BySay)))
	return s.over()
}

func (s *scanner) evidence() *Evidence {
	e := new(Evidence)
	s.must(`{"handler":`)
	e.Handler = Handler(s.quoted(string(HTTPGet), string(TCPSocket), string(Exec), string(GRPC)))
	s.must(`,"target":`)
	e.Target = s.quoted()
	e.Local, e.Remote = s.text(`,"local":`), s.text(`,"remote":`)
	e.Connect, e.TLS = time.Duration(s.number(`,"connect":`)), time.Duration(s.number(`,"tls":`))
	e.Sent, e.FirstByte = time.Duration(s.number(`,"sent":`)), time.Duration(s.number(`,"firstByte":`))
	e.Body = time.Duration(s.number(`,"body":`))
	e.Redirected = s.text(`,"redirected":`)
	e.Status = int(s.number(`,"status":`))
	e.Proto = s.text(`,"proto":`, "HTTP/1.1")
	if s.have(`,"header":{`) {
		e.Header = s.header()
	}
	e.Output = s.text(`,"output":`)
	if s.have(`,"exitCode":`) {
		code := int(s.signed())
		e.ExitCode = &code
	}
	e.Timeout = s.have(`,"timeout":true`)
	e.Error, e.Errno = s.text(`,"error":`), s.text(`,"errno":`)
	s.must(`}`)
	return e
}

// sampled reads the body of a sample, to its end: nothing but numbers.
func (s *scanner) sampled(b *Sampled) bool {
	s.must(`{`)
	first := true
	number := func(key string) int64 {
		if first {
			key = key[1:] // no comma before it
		}
		before := len(s.b)
		n := s.number(key)
		first = first && len(s.b) == before
		return n
	}
	b.MemoryCurrent, b.MemoryPeak, b.MemoryLimit = number(`,"memoryCurrent":`), number(`,"memoryPeak":`), number(`,"memoryLimit":`)
	b.MemoryFile, b.MemoryShmem, b.WorkingSet = number(`,"memoryFile":`), number(`,"memoryShmem":`), number(`,"workingSet":`)
	b.OOMKills, b.MemoryHigh, b.HighEvents = number(`,"oomKills":`), number(`,"memoryHigh":`), number(`,"highEvents":`)
	b.CPUUsage, b.Periods = time.Duration(number(`,"cpuUsage":`)), number(`,"periods":`)
	b.ThrottledPeriods, b.ThrottledTime = number(`,"throttledPeriods":`), time.Duration(number(`,"throttledTime":`))
	b.PIDs, b.PIDLimit = number(`,"pids":`), number(`,"pidLimit":`)
	b.CPUSome, b.MemorySome = time.Duration(number(`,"cpuSome":`)), time.Duration(number(`,"memorySome":`))
	b.MemoryFull, b.IOSome = time.Duration(number(`,"memoryFull":`)), time.Duration(number(`,"ioSome":`))
	return s.over()
}

// created, marked, kill and backOff read what each run of a container leaves.
func (s *scanner) created(b *Created) bool {
	s.must(`{"containerID":`)
	b.ContainerID = s.quoted()
	b.Image, b.ImageID = s.text(`,"image":`), s.text(`,"imageID":`)
	return s.over()
}

func (s *scanner) marked(b *Marked) bool {
	s.must(`{"ready":`)
	b.Ready = s.either()
	s.must(`,"started":`)
	b.Started = s.either()
	return s.over()
}

func (s *scanner) kill(b *Kill) bool {
	s.must(`{"reason":`)
	b.Reason = KillReason(s.quoted(string(KillLiveness), string(KillStartup)))
	s.must(`,"message":`)
	b.Message = s.quoted()
	s.must(`,"graceSeconds":`)
	b.GraceSeconds = s.signed()
	b.SkipHook = s.have(`,"skipHook":true`)
	return s.over()
}

func (s *scanner) backOff(b *BackOff) bool {
	s.must(`{"what":`)
	b.What = BackOffOf(s.quoted())
	s.must(`,"delay":`)
	b.Delay = time.Duration(s.signed())
	s.must(`,"until":`)
	b.Until = s.time()
	s.must(`,"message":`)
	b.Message = s.quoted()
	return s.over()
}

// condition reads one of the pod's, which Kubernetes' own types write.
func (s *scanner) condition(c *v1.PodCondition) bool {
	s.must(`{"condition":{"type":`)
	c.Type = v1.PodConditionType(s.quoted(string(v1.PodReady), string(v1.ContainersReady)))
	c.ObservedGeneration = s.number(`,"observedGeneration":`)
	s.must(`,"status":`)
	c.Status = v1.ConditionStatus(s.quoted(string(v1.ConditionTrue), string(v1.ConditionFalse)))
	s.must(`,"lastProbeTime":`)
	c.LastProbeTime = s.metaTime()
	s.must(`,"lastTransitionTime":`)
	c.LastTransitionTime = s.metaTime()
	c.Reason, c.Message = s.text(`,"reason":`, "ContainersNotReady"), s.text(`,"message":`)
	s.must(`}`)
	return s.over()
}

func (s *scanner) metaTime() (t metav1.Time) {
	if !s.have(`null`) {
		t.Time = s.time().Local()
	}
	return t
}

// either reads true or false.
func (s *scanner) either() bool {
	yes := s.have(`true`)
	s.bad = s.bad || !yes && !s.have(`false`)
	return yes
}

// over says whether the body ends here, and all was as expected.
func (s *scanner) over() bool {
	s.must(`}`)
	return !s.bad && len(s.b) == 0
}

func (s *scanner) header() map[string]string {
	all := map[string]string{}
	for {
		name := s.quoted()
		s.must(`:`)
		all[name] = s.quoted()
		if s.bad || !s.have(`,`) {
			s.must(`}`)
			return all
		}
	}
}

// have takes what stands at the front, if it is that.
func (s *scanner) have(what string) bool {
	if s.bad || len(s.b) < len(what) || string(s.b[:len(what)]) != what {
		return false
	}
	s.b = s.b[len(what):]
	return true
}

func (s *scanner) must(what string) { s.bad = !s.have(what) }

// text is the string behind a key, "" without that key.
func (s *scanner) text(key string, like ...string) string {
	if !s.have(key) {
		return ""
	}
	return s.quoted(like...)
}

// number is the number behind a key, 0 without that key.
func (s *scanner) number(key string) int64 {
	if !s.have(key) {
		return 0
	}
	return s.signed()
}

// quoted reads a string. Where it is one of those that it may be like, that one is given.
func (s *scanner) quoted(like ...string) string {
	if s.bad || len(s.b) == 0 || s.b[0] != '"' {
		s.bad = true
		return ""
	}
	for i := 1; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			raw := s.b[1:i]
			s.b = s.b[i+1:]
			for _, known := range like {
				if string(raw) == known {
					return known
				}
			}
			return string(raw)
		case c < ' ' || c > '~' || c == '\\':
			return s.escaped(i)
		}
	}
	s.bad = true
	return ""
}

// escaped reads a string that is not plain from a byte on.
func (s *scanner) escaped(from int) (text string) {
	for i := from; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			s.bad = json.Unmarshal(s.b[:i+1], &text) != nil
			s.b = s.b[i+1:]
			return text
		}
	}
	s.bad = true
	return ""
}

func (s *scanner) time() (t time.Time) {
	for i := 1; !s.bad && i < len(s.b) && s.b[0] == '"'; i++ {
		if s.b[i] == '"' {
			s.bad = t.UnmarshalText(s.b[1:i]) != nil
			s.b = s.b[i+1:]
			return t
		}
	}
	s.bad = true
	return t
}

// signed reads an integer.
func (s *scanner) signed() int64 {
	negative := s.have(`-`)
	n := s.unsigned()
	switch {
	case !negative && n <= math.MaxInt64:
		return int64(n)
	case negative && n <= -math.MinInt64:
		return -int64(n)
	}
	s.bad = true
	return 0
}

// unsigned reads an integer that is not negative, as JSON allows it: without a 0 in front.
func (s *scanner) unsigned() (n uint64) {
	i := 0
	for ; i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9'; i++ {
		digit := uint64(s.b[i] - '0')
		if n > (math.MaxUint64-digit)/10 {
			s.bad = true
			return 0
		}
		n = 10*n + digit
	}
	s.bad = s.bad || i == 0 || i > 1 && s.b[0] == '0'
	s.b = s.b[i:]
	return n
}

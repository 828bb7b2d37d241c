package knowledge

import "slices"

// Role is what a message stands for where it is found, so that it counts in reasoning without a line of code.
type Role struct {
	// Client is what it says in the log of who asks another: one of [Outcomes].
	Client Outcome `yaml:"client,omitempty"`
	// Server is what it says in the log of its own speaker: one of [States].
	Server State `yaml:"server,omitempty"`
}

// Outcome is what became of a question to another program.
type Outcome string

// The outcomes of a question.
const (
	NoAnswerOfDNS   Outcome = "no-dns"      // DNS did not answer
	UnknownName     Outcome = "no-name"     // DNS knows no such name
	NobodyListens   Outcome = "refused"     // the connection is refused
	Unanswered      Outcome = "unanswered"  // nobody answers there
	NotReached      Outcome = "unreached"   // it is not reached
	ServerError     Outcome = "failed"      // it answers with an error of its own
	NotInTime       Outcome = "late"        // it does not answer in time
	NoMember        Outcome = "no-member"   // none of those that may be asked is there
	NotLetIn        Outcome = "not-let-in"  // it lets nobody in
	EndedByOther    Outcome = "broken-off"  // it ends the connection
	StatusRefusal   Outcome = "turned-away" // it, or a proxy before it, answers with a refusal
	CredentialsFail Outcome = "credentials" // it refuses the credentials
)

// Outcomes are all of them. Where a line fits several, the first counts.
var Outcomes = []Outcome{NoAnswerOfDNS, UnknownName, NobodyListens, Unanswered, NotReached, ServerError, NotInTime, NoMember, NotLetIn, EndedByOther, StatusRefusal, CredentialsFail}

// State is what a program says of itself.
type State string

// The states of a program.
const (
	Waiting   State = "waits"      // it waits for something
	Foretold  State = "foretells"  // an error right after it may come from this
	Misused   State = "tool-fails" // a command says what keeps it from its work
	NoCluster State = "no-cluster" // it serves nothing before its cluster, or its operator, has made it whole
	Denied    State = "denied"     // its user, permissions or account do not let it do its work
)

// States are all of them.
var States = []State{Waiting, Foretold, Misused, NoCluster, Denied}

// severities are how severe a message can be at whatever level its logger puts it.
var severities = []string{"error", "warning"}

func (e *Entry) checkRole(f *faults) {
	if e.Role.Client != "" && !slices.Contains(Outcomes, e.Role.Client) {
		f.add(e, "in", "there is no outcome %q for a client: %v", e.Role.Client, Outcomes)
	}
	if e.Role.Server != "" && !slices.Contains(States, e.Role.Server) {
		f.add(e, "in", "there is no state %q of a server: %v", e.Role.Server, States)
	}
	if e.Severity != "" && !slices.Contains(severities, e.Severity) {
		f.add(e, "severity", "there is no severity %q: %v", e.Severity, severities)
	}
}

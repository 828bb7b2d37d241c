package words

import (
	"regexp"

	"whylet.dev/whylet/knowledge"
)

// NoFork says whether something could not start a process or a thread for want of ids.
func NoFork(text string) bool {
	return knowledge.NoFork.In(text) || knowledge.Again.In(text) && knowledge.Start.In(text)
}

// capabilities are what the kernel asks of who does what a line tells of (capabilities(7)).
var capabilities = []struct {
	does *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`(?i)\b(set(re|res)?gid|setgroups|initgroups)\b|\bgroup[- ]?id\b`), "SETGID"},
	{regexp.MustCompile(`(?i)\bset(re|res)?uid\b|\buser[- ]?id\b`), "SETUID"},
	{regexp.MustCompile(`(?i)\bchown\b`), "CHOWN"},
	{regexp.MustCompile(`(?i)\bchroot\b`), "SYS_CHROOT"},
	{regexp.MustCompile(`(?i)\bbind(ing)?\b`), "NET_BIND_SERVICE"},
	{regexp.MustCompile(`(?i)\bmlock(all)?\b`), "IPC_LOCK"},
	{regexp.MustCompile(`(?i)\braw socket\b|\bSOCK_RAW\b`), "NET_RAW"},
	{regexp.MustCompile(`\b((clock_)?adjtimex?|clock_settime|settimeofday|stime)\b`), "SYS_TIME"},
	{regexp.MustCompile(`\b(sethostname|setdomainname|pivot_root|swapon|swapoff|umount2)\b`), "SYS_ADMIN"},
	{regexp.MustCompile(`\bRTNETLINK answers\b|\bTUNSETIFF\b|\bSIOCSIF[A-Z]+\b|\bSIOC(ADD|DEL)RT\b`), "NET_ADMIN"},
	{regexp.MustCompile(`\b(f?init_module|delete_module)\b`), "SYS_MODULE"},
	{regexp.MustCompile(`\b(iopl|ioperm)\b`), "SYS_RAWIO"},
	{regexp.MustCompile(`\bklogctl\b`), "SYSLOG"},
	{regexp.MustCompile(`\bsched_set(scheduler|param|attr)\b`), "SYS_NICE"},
}

// notPermitted is EPERM at the end of what was tried.
var notPermitted = regexp.MustCompile(`(?i)(\boperation not permitted\b|\beperm\b)\W*((errno=)?\d+\W*)?$`)

// NeededCapability is the one that a call needs that was refused, as Kubernetes names it; "" where
// the line does not tell which call that was.
func NeededCapability(said string) string {
	for _, c := range capabilities {
		if c.does.MatchString(said) {
			return c.name
		}
	}
	return ""
}

// missing fits what programs say of a capability that they do not have.
var missing = regexp.MustCompile(`(?i)\b(miss(es|ing)?|lacks?|lacking|needs?|requires?|required|without|absent|not (present|available|permitted|granted|held|effective|set)|(does|do) not have|must have|no)\b`)

// named fits the name of a capability that is called one.
var named = regexp.MustCompile(`\bCAP_([A-Z]{3,}(?:_[A-Z]+)*)\b|\bcapability:? ([A-Z]{3,}_[A-Z]+(?:_[A-Z]+)*)\b`)

// LackedCapability is the one, as Kubernetes names it, that a line says is missing, or that the
// call needs that it says was refused with EPERM; "" where it tells of none.
func LackedCapability(line string) string {
	if m := named.FindStringSubmatch(line); m != nil && (missing.MatchString(line) || notPermitted.MatchString(line)) {
		return m[1] + m[2]
	}
	if notPermitted.MatchString(line) {
		return NeededCapability(line)
	}
	return ""
}

package answer

import "whylet.dev/whylet/redact"

// Redacted returns the answer without secrets. Whom it is about stays as it is: a name may look like a token.
func (a Answer) Redacted() Answer {
	of := redact.Strings(a)
	of.Subject = a.Subject
	for i, s := range a.Symptoms {
		of.Symptoms[i].Pod, of.Symptoms[i].Container = s.Pod, s.Container
	}
	for i, v := range a.Verdicts {
		of.Verdicts[i].Pod, of.Verdicts[i].Container = v.Pod, v.Container
	}
	return of
}

// Redacted returns answers without secrets, in a new slice.
func Redacted(all []Answer) []Answer {
	out := make([]Answer, len(all))
	for i, a := range all {
		out[i] = a.Redacted()
	}
	return out
}

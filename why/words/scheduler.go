package words

import "strings"

// Scheduler drops what the scheduler adds about preemption, which could not help either.
func Scheduler(message string) string {
	message, _, _ = strings.Cut(message, " no new claims to deallocate")
	message, _, _ = strings.Cut(message, " preemption:")
	return message
}

package words

import "strings"

// BrokeOff says whether an answer ended before it was there (io of Go, EOF).
func BrokeOff(text string) bool { return strings.Contains(text, "EOF") }

// Alert is the alert in an error of a handshake, as Go words it.
func Alert(text string) string {
	_, alert, _ := strings.Cut(text, "remote error: ")
	return alert
}

// CutShort says whether an answer ended in its middle (io of Go, ErrUnexpectedEOF).
func CutShort(text string) bool { return strings.HasSuffix(text, "unexpected EOF") }

package redact

import (
	"strings"
	"testing"
)

// BenchmarkText is the cost of a line: of those that hold nothing, and of those that hold a
// secret.
func BenchmarkText(b *testing.B) {
	for _, file := range []string{"harmless.txt", "secrets.txt"} {
		all := lines(b, file)
		for i := range all {
			all[i], _ = plain(all[i])
		}
		b.Run(strings.TrimSuffix(file, ".txt"), func(b *testing.B) {
			size := 0
			for _, line := range all {
				size += len(line)
			}
			b.SetBytes(int64(size / len(all)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Text(all[i%len(all)])
			}
		})
	}
	plain := strings.Repeat("2026-11-28T16:20:00.123Z INFO  [main] c.e.shop.OrderService : handled order 4711 of customer 42 in 12 ms", 1)
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(len(plain)))
		b.ReportAllocs()
		for b.Loop() {
			Text(plain)
		}
	})
}

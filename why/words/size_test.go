package words

import "testing"

func TestSizeLine(t *testing.T) {
	for line, want := range map[string]int64{
		"maxmemory 512mb": 512 << 20, "innodb_buffer_pool_size = 1G": 1 << 30, "  shared_buffers: 256MB  # a quarter": 256 << 20,
		`"cache.size.memory": "1.5g",`: 3 << 29, "max_heap_table_size=64M": 64 << 20,
		"listen 8080": 0, "maxmemory-policy allkeys-lru": 0, "timeout = 5m": 0, "# maxmemory 512mb": 0, "shared_buffers = 128": 0,
	} {
		if _, got, ok := SizeLine(line); got != want || ok != (want > 0) {
			t.Errorf("%q: %d", line, got)
		}
	}
}

func FuzzSizeLine(f *testing.F) {
	f.Add("maxmemory 512mb")
	f.Fuzz(func(t *testing.T, line string) {
		if _, n, ok := SizeLine(line); ok != (n > 0) {
			t.Errorf("%q: %d", line, n)
		}
	})
}

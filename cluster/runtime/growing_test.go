package runtime

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// zeros are many.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A small archive that unpacks to a disk full of nothing is given up early.
func TestBombIsNotUnpacked(t *testing.T) {
	packed, in := io.Pipe()
	go func() {
		z := gzip.NewWriter(in)
		_, err := io.CopyN(z, zeros{}, 3*alwaysUnpacked)
		_ = z.Close()
		_ = in.CloseWithError(err)
	}()
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, unpackedWithin(plain, 3<<20))
	if err == nil || !strings.Contains(err.Error(), "100 times") || n > alwaysUnpacked {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := io.Copy(io.Discard, unpackedWithin(io.LimitReader(zeros{}, alwaysUnpacked), 1)); err != nil || n != alwaysUnpacked {
		t.Errorf("%d bytes of an archive that is not too large: %v", n, err)
	}
}

package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/fact"
)

// crash ends a journal as a SIGKILL would: nothing more is written.
func crash(j *Journal) {
	j.closed.Store(true)
	close(j.stop)
	j.workers.Wait()
	j.lock.Close()
}

// written makes a directory with n failures of three pods in its log.
func written(t testing.TB, n int) (dir, logFile string) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, dir, Options{})
	for i := range n {
		must(t, j.Append(failure(j.Next(1), testPod(i%3), i)))
	}
	crash(j)
	return dir, filepath.Join(dir, logName(1))
}

func TestTornTailAtEveryByte(t *testing.T) {
	dir, path := written(t, 4)
	whole, err := os.ReadFile(path)
	must(t, err)
	s := scanFrames(whole, 0, newNames())
	begin := int(s.entries[3].off)
	for begin > 0 {
		if _, _, state := readFrame(whole[begin:]); state == frameGood {
			break
		}
		begin--
	}
	for cut := begin; cut < len(whole); cut++ {
		for name, tail := range map[string][]byte{
			"short": nil,
			"zeros": make([]byte, len(whole)-cut), // a size that was written before its data
		} {
			if name == "zeros" && cut > begin {
				continue
			}
			must(t, os.WriteFile(path, append(slices.Clone(whole[:cut]), tail...), fileMode))
			j := open(t, dir, Options{})
			got := collect(t, j.Query(Query{}))
			if !slices.Equal(ids(got), []fact.ID{1, 2, 3}) {
				t.Fatalf("cut at %d (%s): %v", cut, name, ids(got))
			}
			id := j.Next(1)
			if id <= 4 {
				t.Fatalf("id %d is given again", id)
			}
			must(t, j.Append(failure(id, testPod(0), 9)))
			must(t, j.Close())
			j = open(t, dir, Options{})
			if got := ids(collect(t, j.Query(Query{}))); !slices.Equal(got, []fact.ID{1, 2, 3, id}) {
				t.Fatalf("cut at %d: after one more: %v", cut, got)
			}
			must(t, j.Close())
			clean(t, dir)
		}
	}
}

// clean leaves only the first log.
func clean(t testing.TB, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		if f.Name() != logName(1) {
			must(t, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	}
}

func TestBitFlipInTheLog(t *testing.T) {
	dir, path := written(t, 6)
	whole, err := os.ReadFile(path)
	must(t, err)
	for off := 0; off < len(whole); off += 7 {
		broken := slices.Clone(whole)
		broken[off] ^= 1 << (off % 8)
		must(t, os.WriteFile(path, broken, fileMode))
		j := open(t, dir, Options{})
		var got []fact.Fact
		eventually(t, "the loss is written down", func() bool {
			got = collect(t, j.Query(Query{}))
			return len(ofKind(got, "Lost")) == 1
		})
		served := ofKind(got, "Probed")
		if min := 5; len(served) < min {
			t.Fatalf("flip at %d: only %v are served", off, ids(served))
		}
		for _, f := range served {
			if wire(t, f) != wire(t, failure(f.ID, testPod(int(f.ID-1)%3), int(f.ID-1))) {
				t.Fatalf("flip at %d changed fact %d", off, f.ID)
			}
		}
		lost, _ := ofKind(got, "Lost")[0].Body.(fact.Lost)
		if lost.Source != "journal" || !strings.Contains(lost.Reason, "damaged") {
			t.Errorf("lost: %+v", lost)
		}
		if aside, err := os.ReadFile(filepath.Join(dir, asideDir, logName(1))); err != nil || !slices.Equal(aside, broken) {
			t.Errorf("flip at %d: the damaged log is not set aside: %v", off, err)
		}
		must(t, j.Close())
		clean(t, dir)
		must(t, os.RemoveAll(path))
	}
}

func TestBitFlipInASegment(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	for i := range 30 {
		must(t, j.Append(failure(j.Next(1), testPod(i%3), i)))
	}
	must(t, j.commitAndSeal())
	must(t, j.Close())
	name := segmentName{1, 1, 0}
	path := filepath.Join(dir, name.String())
	whole, err := os.ReadFile(path)
	must(t, err)
	sound, err := openSegment(path, name)
	must(t, err)
	must(t, sound.f.Close())
	for off := 0; off < len(whole); off += 3 {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			dir := t.TempDir()
			broken := slices.Clone(whole)
			broken[off] ^= 0x10
			must(t, os.WriteFile(filepath.Join(dir, name.String()), broken, fileMode))
			r, err := OpenReader(dir)
			must(t, err)
			defer r.Close()
			if got := collect(t, r.Query(Query{})); len(got) < 20 {
				t.Errorf("a reader is served %d facts", len(got))
			}
			j := open(t, dir, Options{})
			collect(t, j.Query(Query{})) // reading is what finds a damaged block
			if inIDs := int64(off) >= sound.ids.off && int64(off) < sound.ids.off+sound.ids.size; inIDs {
				// The list of ids says nothing that the blocks do not say.
				for id := range fact.ID(30) {
					if f, ok, err := j.Get(id + 1); !ok || err != nil || f.ID != id+1 {
						t.Fatalf("fact %d: %v %v", id+1, ok, err)
					}
				}
				return
			}
			if off >= len(segmentMagic) {
				eventually(t, "the loss is written down", func() bool {
					return len(ofKind(collect(t, j.Query(Query{})), "Lost")) > 0
				})
			}
			got := ofKind(collect(t, j.Query(Query{})), "Probed")
			if len(got) != 30 && len(got) != 20 {
				t.Errorf("%d facts are served", len(got))
			}
			must(t, j.keep())
			if again := ofKind(collect(t, j.Query(Query{})), "Probed"); len(again) != len(got) {
				t.Errorf("%d facts after the repair, %d before", len(again), len(got))
			}
			for _, s := range j.segments() {
				if s.name == name && off >= len(segmentMagic) {
					t.Error("the damaged segment is still in use")
				}
			}
		})
	}
}

func TestInterruptedRewrite(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	for i := range 10 {
		must(t, j.Append(failure(j.Next(1), testPod(i%3), i)))
	}
	crash(j)
	log, err := os.ReadFile(filepath.Join(dir, logName(1)))
	must(t, err)
	j = open(t, dir, Options{})
	must(t, j.commitAndSeal())
	must(t, j.Close())
	seg, err := os.ReadFile(filepath.Join(dir, segmentName{1, 1, 0}.String()))
	must(t, err)
	// The process died after the new name was there, and before the old was gone.
	must(t, os.WriteFile(filepath.Join(dir, logName(1)), log, fileMode))
	must(t, os.WriteFile(filepath.Join(dir, segmentName{1, 1, 1}.String()), seg, fileMode))
	must(t, os.WriteFile(filepath.Join(dir, segmentName{1, 9, 0}.String()+tmpSuffix), seg[:20], fileMode))
	r, err := OpenReader(dir)
	must(t, err)
	defer r.Close()
	if got := collect(t, r.Query(Query{})); len(got) != 10 {
		t.Errorf("a reader sees %d facts", len(got))
	}
	j = open(t, dir, Options{})
	if got := collect(t, j.Query(Query{})); len(got) != 10 {
		t.Errorf("%d facts", len(got))
	}
	for _, gone := range []string{logName(1), segmentName{1, 1, 0}.String(), segmentName{1, 9, 0}.String() + tmpSuffix} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is left behind", gone)
		}
	}
}

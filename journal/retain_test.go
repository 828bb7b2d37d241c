package journal

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// noise is a fact that does not compress.
func noise(id fact.ID, pod fact.Pod, second int) fact.Fact {
	f := failure(id, pod, second)
	b := make([]byte, 512)
	x := uint64(id)*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = 'a' + byte(x%26)
	}
	f.Body = fact.ImageFailed{Reason: "ErrImagePull", Message: string(b)}
	return f
}

func checkpoint(id fact.ID, pod fact.Pod, second int) fact.Fact {
	f := failure(id, pod, second)
	f.Container = ""
	f.Body = fact.Checkpoint{State: json.RawMessage(`{}`)}
	return f
}

// settle waits until retention has nothing more to do.
func settle(t *testing.T, j *Journal) {
	t.Helper()
	must(t, j.commitAndSeal())
	for range 10 {
		must(t, j.keep())
	}
}

func TestNoisyPodPushesOutNobody(t *testing.T) {
	j := open(t, t.TempDir(), Options{MaxBytes: 1 << 20, SegmentBytes: 64 << 10})
	quiet := []fact.ID{}
	for i := range 8000 {
		pod := testPod(0)
		if i%100 == 0 {
			pod = testPod(1 + i/100%3)
		}
		f := noise(j.Next(1), pod, i)
		if pod != testPod(0) {
			quiet = append(quiet, f.ID)
		}
		must(t, j.Append(f))
		if i%500 == 0 {
			must(t, j.keep())
		}
	}
	settle(t, j)
	got := collect(t, j.Query(Query{}))
	kept := []fact.ID{}
	var noisy []fact.ID
	for _, f := range got {
		if f.Pod == testPod(0) {
			noisy = append(noisy, f.ID)
		} else {
			kept = append(kept, f.ID)
		}
	}
	if !slices.Equal(kept, quiet) {
		t.Errorf("%d of the quiet pods' %d facts are left", len(kept), len(quiet))
	}
	if size := j.Stats().SegmentBytes; size > 1<<20+1<<18 {
		t.Errorf("%d bytes are kept", size)
	}
	if len(noisy) == 0 || noisy[len(noisy)-1] < 7990 || len(noisy) < 500 {
		t.Errorf("the noisy pod has %d facts left", len(noisy))
	}
	// What is left of it is its newest, without holes.
	if first := slices.Index(ids(got), noisy[0]); len(got)-first < len(noisy) {
		t.Error("older facts of it outlived newer ones")
	}
}

func TestPodsThatAreGoneGoFirst(t *testing.T) {
	alive := testPod(999).UID
	j := open(t, t.TempDir(), Options{
		MaxBytes: 1 << 19, SegmentBytes: 64 << 10,
		Live: func(uid types.UID) bool { return uid == alive },
	})
	for i := range 3000 { // three facts each of a thousand short-lived pods
		must(t, j.Append(noise(j.Next(1), testPod(i/3), i)))
		if i%500 == 0 {
			must(t, j.keep())
		}
	}
	settle(t, j)
	for _, p := range j.Pods() {
		if p.Facts != 3 {
			t.Errorf("pod %s has %d facts left", p.Pod, p.Facts)
		}
	}
	pods := j.Pods()
	if len(pods) < 150 || len(pods) > 990 {
		t.Errorf("%d pods are left", len(pods))
	}
	for _, p := range pods {
		if p.Pod.Name < "web-3" && len(p.Pod.Name) == len("web-100") {
			t.Errorf("an old pod is left: %s", p.Pod)
		}
	}
}

func TestLivePodKeepsItsCheckpoint(t *testing.T) {
	var now testClock
	j := open(t, t.TempDir(), Options{
		MaxBytes: 256 << 10, SegmentBytes: 32 << 10, MaxAge: time.Hour,
		Live:  func(uid types.UID) bool { return uid == testPod(1).UID || uid == testPod(2).UID },
		Clock: now.now,
	})
	// Pod 1 has a checkpoint, pod 2 has none, pod 3 is gone; then pod 4 is noisy.
	var point fact.ID
	for i := range 900 {
		must(t, j.Append(noise(j.Next(1), testPod(1+i%3), i)))
		if i == 600 {
			point = j.Next(1)
			must(t, j.Append(checkpoint(point, testPod(1), i)))
		}
	}
	for i := range 3000 {
		must(t, j.Append(noise(j.Next(1), testPod(4), 1000+i)))
	}
	now.advance(3 * time.Hour)
	settle(t, j)
	one := ids(collect(t, j.Query(Query{UID: testPod(1).UID})))
	if at := slices.Index(one, point); at < 0 || len(one)-at != 100 {
		t.Errorf("of pod 1, %d facts are left, the checkpoint at %d", len(one), at)
	} else if at > 140 {
		t.Errorf("%d facts before the checkpoint are left", at)
	}
	if two := collect(t, j.Query(Query{UID: testPod(2).UID})); len(two) != 300 {
		t.Errorf("of pod 2, which has no checkpoint, %d facts are left", len(two))
	}
	if gone := collect(t, j.Query(Query{UID: testPod(3).UID})); len(gone) != 0 {
		t.Errorf("of pod 3, %d facts outlived their time", len(gone))
	}
}

func TestMergingKeepsFewFiles(t *testing.T) {
	j := open(t, t.TempDir(), Options{SegmentBytes: 8 << 10})
	for i := range 5000 {
		must(t, j.Append(failure(j.Next(1), testPod(i%7), i)))
	}
	settle(t, j)
	// Of the last tier, which has segments of at least half SegmentBytes, there
	// are as many as it takes; of those before it, fewer than are merged.
	if s := j.Stats(); int64(s.Segments) > s.SegmentBytes/(4<<10)+lastTier*mergeCount {
		t.Errorf("%d segments for %d bytes", s.Segments, s.SegmentBytes)
	}
	if got := collect(t, j.Query(Query{})); len(got) != 5000 {
		t.Errorf("%d facts", len(got))
	}
}

func TestSinceCheckpoint(t *testing.T) {
	j := open(t, t.TempDir(), Options{})
	for i := range 30 {
		must(t, j.Append(failure(j.Next(1), testPod(i%3), i)))
		if i == 10 || i == 20 {
			must(t, j.Append(checkpoint(j.Next(1), testPod(i%3), i)))
		}
		if i == 25 {
			must(t, j.commitAndSeal())
		}
	}
	// Pod 0 has no checkpoint, pod 1 one behind its fact 11, pod 2 one behind 22.
	want := []fact.ID{1, 4, 7, 10, 12, 14, 15, 17, 18, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
	want = slices.DeleteFunc(want, func(id fact.ID) bool {
		f, _, err := j.Get(id)
		must(t, err)
		return f.Pod == testPod(1) && id < 12 || f.Pod == testPod(2) && id < 23
	})
	if got := ids(collect(t, j.Query(Query{SinceCheckpoint: true}))); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

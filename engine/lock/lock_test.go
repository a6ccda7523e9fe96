package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/lock"
)

func TestOneHolderAtATime(t *testing.T) {
	var set lock.Set
	var group sync.WaitGroup
	holders, worst := 0, 0
	for i := range 50 {
		group.Go(func() {
			names := []string{"a", "b"}
			if i%2 == 0 {
				names = []string{"b", "a", "b"}
			}
			release, err := set.Acquire(context.Background(), names, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			holders++ // the race detector sees two holders
			worst = max(worst, holders)
			holders--
			release()
			release()
		})
	}
	group.Wait()
	if worst != 1 {
		t.Errorf("%d holders at one time, want 1", worst)
	}
}

func TestBusyReleasesWhatWasTaken(t *testing.T) {
	var set lock.Set
	ctx := context.Background()
	releaseB, _ := set.Acquire(ctx, []string{"b"}, time.Minute)
	if _, err := set.Acquire(ctx, []string{"a", "b"}, time.Millisecond); !errors.Is(err, lock.ErrBusy) {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	releaseA, err := set.Acquire(ctx, []string{"a"}, time.Millisecond)
	if err != nil {
		t.Fatalf("a was not given back: %v", err)
	}
	releaseA()
	releaseB()
}

func TestCancelledWaiterLeaves(t *testing.T) {
	var set lock.Set
	release, _ := set.Acquire(context.Background(), []string{"a"}, time.Minute)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := set.Acquire(ctx, []string{"a"}, time.Minute); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	release()
	again, err := set.Acquire(context.Background(), []string{"a"}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

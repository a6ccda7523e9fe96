package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

// TestFullDisk runs on a real file system of 1 MiB, in another process with a
// mount namespace of its own. Where the system allows no such namespace, the
// limit of the database in TestNoRoom stands in for it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := command("full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	out, err := cmd.Output()
	if errors.Is(err, os.ErrPermission) || strings.HasPrefix(string(out), "no mount") {
		t.Logf("no mount namespace on this system: %v", err)
		return
	}
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%s%v", out, err)
	}
}

// fill fills the disk with records, frees some and sees the store recover.
func fill(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		fmt.Println("no mount:", err)
		return nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		fmt.Println("no mount:", err)
		return nil
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 512<<10), 0o600); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(dir, "state"), store.Options{Log: quiet(), Now: time.Now})
	if err != nil {
		return err
	}
	kept := 0
	var failed *store.FailedError
	for failed == nil {
		if kept > 100_000 {
			return errors.New("the disk never became full")
		}
		slot, err := s.Reserve(ctx)
		if err != nil {
			return err
		}
		if err := slot.Intent(ctx, example(fmt.Sprint(kept), call.Mutating)); errors.As(err, &failed) {
			slot.Release()
			break
		} else if err != nil {
			return err
		}
		if err := slot.Outcome(ctx, done(example(fmt.Sprint(kept), call.Mutating))); err != nil && !errors.As(err, &failed) {
			return err
		}
		kept++ // an outcome that could not be durable is kept and written later
	}
	if _, err := s.Reserve(ctx); !errors.As(err, &failed) {
		return fmt.Errorf("a full disk gave a reservation: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); s.Ready() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("never recovered: %w", s.Ready())
		}
	}
	if n, err := s.Count(ctx); err != nil || n != int64(kept) {
		return fmt.Errorf("%d records, %v; want %d", n, err, kept)
	}
	records, err := s.Records(ctx, audit.Filter{Limit: 10})
	if err != nil || len(records) != 10 || records[9].Phase != audit.Outcome {
		return fmt.Errorf("the newest records: %+v, %v", records, err)
	}
	if err := s.Close(ctx); err != nil {
		return err
	}
	fmt.Println("ok")
	return nil
}

package load

import (
	"io/fs"
	"syscall"
	"time"
)

// identity tells a file from one that was put in its place, and changed when
// it was touched last, whatever its date pretends.
type identity struct {
	device, inode uint64
	changed       time.Time
}

func identityOf(info fs.FileInfo) identity {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{uint64(s.Dev), s.Ino, time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec))}
	}
	return identity{}
}

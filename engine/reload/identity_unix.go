//go:build unix

package reload

import (
	"io/fs"
	"strconv"
	"syscall"
)

// identity tells apart two files of one name, size and date.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(stat.Dev), 10) + ":" + strconv.FormatUint(uint64(stat.Ino), 10) +
		" " + strconv.FormatUint(uint64(stat.Uid), 10) + ":" + strconv.FormatUint(uint64(stat.Gid), 10)
}

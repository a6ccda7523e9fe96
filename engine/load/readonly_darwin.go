package load

import "golang.org/x/sys/unix"

const readOnlyFlag = unix.MNT_RDONLY

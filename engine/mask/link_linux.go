package mask

import "golang.org/x/sys/unix"

const noSignal = unix.MSG_NOSIGNAL

//go:build linux || darwin || freebsd || netbsd || openbsd

package mask

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// endBytes is the size of a message that tells an End.
const endBytes = 12

func (e End) encode() []byte {
	out := make([]byte, 0, endBytes)
	for _, n := range []int{e.Code, e.Signal, e.Errno} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	return out
}

// Result waits for the end. When the runner itself is gone, so is every
// program of it, killed by the kernel.
func (l Link) Result() End {
	var message [endBytes]byte
	for {
		n, err := unix.Read(int(l), message[:])
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil || n != endBytes:
			return End{Signal: int(unix.SIGKILL)}
		}
		at := func(i int) int { return int(binary.LittleEndian.Uint32(message[4*i:])) }
		return End{Code: at(0), Signal: at(1), Errno: at(2)}
	}
}

// Signal reaches the program and its group, unless it is gone.
func (l Link) Signal(s unix.Signal) {
	_ = unix.Sendto(int(l), []byte{byte(s)}, unix.MSG_DONTWAIT|noSignal, nil)
}

// Close ends what is left of the program's group.
func (l Link) Close() { _ = unix.Close(int(l)) }

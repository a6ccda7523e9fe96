package command

import (
	"path/filepath"
	"slices"
	"strings"
)

// A script or program that is named by a relative path is read from wherever
// the server happens to stand, and an argument inside code is code. Both are
// refused when the tool is loaded (SYNTAX §1.4).

// interpreters run a file that is named by an argument. The value lists the
// options whose next argument is code.
func interpreters() map[string][]string {
	shell := []string{"-c"}
	return map[string][]string{
		"sh": shell, "bash": shell, "dash": shell, "ash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "fish": shell,
		"python": shell, "pypy": shell, "pwsh": {"-c", "-Command", "-EncodedCommand"}, "powershell": {"-c", "-Command"},
		"perl": {"-e", "-E"}, "ruby": {"-e"}, "lua": {"-e"}, "node": {"-e", "-p", "--eval", "--print"}, "nodejs": {"-e", "-p", "--eval", "--print"},
		"bun": {"-e", "--eval"}, "deno": {"eval"}, "php": {"-r"}, "rscript": {"-e"}, "osascript": {"-e"}, "tclsh": nil,
	}
}

// program checks what argv says about which program and which script run.
func (c *compiler) program() {
	if len(c.block.Argv) == 0 {
		return
	}
	name := c.block.Argv[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		c.mistakes.Errorf(c.at("argv", 0), "relative-program", "the program %q is a relative path, which depends on where the server was started", name).
			Hinted("write a name that is found in PATH, or an absolute path")
		return
	}
	at := 0
	if base(name) == "env" { // env NAME=VALUE program: the program is what counts
		for at = 1; at < len(c.block.Argv); at++ {
			if word := c.block.Argv[at]; !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				break
			}
		}
		if at == len(c.block.Argv) {
			return
		}
		if strings.Contains(c.block.Argv[at], "${") {
			c.mistakes.Errorf(c.at("argv", at), "program-slot", "the program cannot come from a slot")
			return
		}
	}
	if code, ok := interpreters()[base(c.block.Argv[at])]; ok {
		c.script(at, code)
		return
	}
	c.wrapped(at)
}

// wrapped looks for code that another program hands to an interpreter, as in
// timeout 5 sh -c … or docker exec NAME sh -c ….
func (c *compiler) wrapped(at int) {
	for i := at + 1; i < len(c.block.Argv); i++ {
		code, ok := interpreters()[base(c.block.Argv[i])]
		for next := i + 1; ok && next < len(c.block.Argv) && strings.HasPrefix(c.block.Argv[next], "-"); next++ {
			if c.code(next, code) {
				return
			}
		}
	}
}

// code reports whether an item says that code follows, or holds it, and
// refuses a slot inside the code.
func (c *compiler) code(at int, code []string) bool {
	if !isCode(c.block.Argv[at], code) {
		return false
	}
	for i := at; i <= at+1 && i < len(c.block.Argv); i++ {
		if strings.Contains(c.block.Argv[i], "${") {
			c.mistakes.Errorf(c.at("argv", i), "slot-in-code", "an argument inside code becomes code").
				Hinted("pass it behind the code as an argument of its own, and read it there as \"$1\" or the like")
			break
		}
	}
	return true
}

// base is the name of a program without folder, version and suffix.
func base(program string) string {
	name := strings.ToLower(filepath.Base(program))
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
}

func (c *compiler) script(at int, code []string) {
	first := true
	for i := at + 1; i < len(c.block.Argv); i++ {
		word := c.block.Argv[i]
		if c.code(i, code) {
			return // what follows is data
		}
		if word == "-m" {
			return // a module, found where the interpreter looks for them
		}
		if strings.HasPrefix(word, "-") || strings.Contains(word, "${") {
			first = first && strings.HasPrefix(word, "-")
			continue
		}
		if (first || looksLikeScript(word)) && !filepath.IsAbs(word) && word != "run" {
			c.mistakes.Errorf(c.at("argv", i), "relative-script", "the script %q is a relative path, which depends on the folder that the program runs in", word).
				Hinted("write an absolute path")
			return
		}
		if filepath.IsAbs(word) {
			return
		}
		first = word == "run"
	}
}

// isCode also sees -c among short options, as in bash -euc, and code that is
// joined to its option, as in python -c${args.x} or node --eval=${args.x}.
func isCode(word string, code []string) bool {
	option, _, joined := strings.Cut(word, "${")
	if joined {
		option = strings.TrimSuffix(option, "=")
	}
	if slices.Contains(code, option) {
		return true
	}
	if len(option) < 3 || option[0] != '-' || option[1] == '-' {
		return false
	}
	letters := option[1:]
	if end := strings.IndexFunc(letters, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }); joined && end >= 0 {
		letters = letters[:end] // the code itself may begin before the slot
	}
	return slices.ContainsFunc(code, func(one string) bool {
		return len(one) == 2 && (strings.HasSuffix(letters, one[1:]) || joined && strings.Contains(letters, one[1:]))
	})
}

func looksLikeScript(word string) bool {
	return strings.ContainsRune(word, '/') || slices.Contains([]string{".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".pl", ".rb", ".php", ".lua", ".ps1", ".tcl", ".r", ".awk"}, strings.ToLower(filepath.Ext(word)))
}

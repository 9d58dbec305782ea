package sim

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// compiled maps the SHA-1 hash of each script to its compiled form (*lua.FunctionProto). All simulated servers share it.
var compiled sync.Map

func compile(source string) (hash string, err error) {
	sum := sha1.Sum([]byte(source))
	hash = hex.EncodeToString(sum[:])
	if _, found := compiled.Load(hash); found {
		return hash, nil
	}
	chunk, err := parse.Parse(strings.NewReader(source), "<string>")
	if err != nil {
		return "", err
	}
	proto, err := lua.Compile(chunk, "")
	if err == nil {
		compiled.Store(hash, proto)
	}
	return hash, err
}

// interpreter is a reusable Lua state with only the libraries that the scripts of locks use. The emulator itself creates
// a new state with all libraries for each call, which would take most of the time of a trial.
type interpreter struct {
	*lua.LState
	okay   *lua.LTable    // the status reply OK, which is by far the most frequent one
	hash   string         // SHA-1 hash of the current script
	server *server.Server // server that runs the current script
	answer bytes.Buffer   // reply to the command that the script called
	reader *bufio.Reader
	writer *bufio.Writer
}

var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

func newInterpreter() *interpreter {
	in := &interpreter{LState: lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, CallStackSize: 64})}
	in.okay = in.single("ok", "OK")
	in.reader, in.writer = bufio.NewReader(&in.answer), bufio.NewWriter(&in.answer)
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.Push(in.NewFunction(open))
		in.Call(0, 0)
	}
	answers := func(field string) lua.LGFunction {
		return func(*lua.LState) int {
			in.Push(in.single(field, in.CheckString(1)))
			return 1
		}
	}
	in.SetGlobal("redis", in.SetFuncs(in.NewTable(), map[string]lua.LGFunction{
		"call":         func(*lua.LState) int { return in.redisCall(true) },
		"pcall":        func(*lua.LState) int { return in.redisCall(false) },
		"error_reply":  answers("err"),
		"status_reply": answers("ok"),
	}))
	return in
}

// runScript handles EVAL and EVALSHA. It returns true if it has replied. It returns false for other commands and after an
// error; the emulator must then reply. known holds the hashes of the scripts sent to this server.
func runScript(s *server.Server, known *sync.Map, peer *server.Peer, command string, args []string) bool {
	if command != "EVAL" && command != "EVALSHA" || len(args) < 2 {
		return false
	}
	hash, args := args[0], args[1:]
	if command == "EVAL" {
		var err error
		if hash, err = compile(hash); err != nil {
			return false
		}
	}
	keys, err := strconv.Atoi(args[0])
	_, sent := known.Load(hash)
	if err != nil || keys < 0 || keys >= len(args) || command == "EVALSHA" && !sent {
		return false
	}
	known.Store(hash, true)
	in := interpreters.Get().(*interpreter)
	defer interpreters.Put(in)
	in.hash, in.server = hash, s
	in.run(peer, args[1:1+keys], args[1+keys:])
	return true
}

func (in *interpreter) run(peer *server.Peer, keys, args []string) {
	defer in.SetTop(0)
	in.SetGlobal("KEYS", in.list(keys))
	in.SetGlobal("ARGV", in.list(args))
	script, _ := compiled.Load(in.hash)
	in.Push(in.NewFunctionFromProto(script.(*lua.FunctionProto)))
	if err := in.PCall(0, 1, nil); err != nil {
		if strings.Contains(err.Error(), readOnly) {
			peer.WriteError(readOnly) // the answer begins with READONLY, as client libraries expect
			return
		}
		peer.WriteError(fmt.Sprintf("ERR Error compiling script (new function): %v", err)) // the same error text as in the emulator miniredis
		return
	}
	reply(peer, in.Get(1))
}

func (in *interpreter) list(all []string) *lua.LTable {
	t := in.CreateTable(len(all), 0)
	for _, text := range all {
		t.Append(lua.LString(text))
	}
	return t
}

// single returns a table with one field: ok for a status reply, err for an error reply.
func (in *interpreter) single(field, text string) *lua.LTable {
	t := in.NewTable()
	t.RawSetString(field, lua.LString(text))
	return t
}

// redisCall runs a command on the server for a script. If the reply is an error, redisCall raises it. If raise is false,
// it returns the error as a table instead.
func (in *interpreter) redisCall(raise bool) int {
	args := make([]string, in.GetTop())
	for i := range args {
		if value := in.Get(i + 1); !lua.LVCanConvToString(value) {
			in.Error(lua.LString("Lua redis lib command arguments must be strings or integers script: "+in.hash+", &c."), 1) // the same error text as in the emulator miniredis
		}
		args[i] = in.ToString(i + 1)
	}
	in.answer.Reset()
	in.reader.Reset(&in.answer)
	in.server.Dispatch(server.NewPeer(in.writer), args)
	in.writer.Flush()
	answer, err := server.ParseReply(in.reader)
	switch {
	case err == nil:
		in.Push(in.value(answer))
	case raise:
		in.Error(lua.LString(err.Error()), 1)
	default:
		in.Push(in.single("err", err.Error()))
	}
	return 1
}

func (in *interpreter) value(answer any) lua.LValue {
	switch a := answer.(type) {
	case int:
		return lua.LNumber(a)
	case string:
		return lua.LString(a)
	case server.Simple:
		if a == "OK" {
			return in.okay
		}
		return in.single("ok", string(a))
	case []any:
		t := in.CreateTable(len(a), 0)
		for _, element := range a {
			t.Append(in.value(element))
		}
		return t
	}
	return lua.LFalse // a null reply is false in Lua
}

func reply(peer *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LNumber:
		peer.WriteInt(int(v))
	case lua.LString:
		peer.WriteBulk(string(v))
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			peer.WriteError(string(text))
			return
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			peer.WriteInline(string(text))
			return
		}
		length := 0
		for v.RawGetInt(length+1) != lua.LNil { // a Lua list ends before its first nil
			length++
		}
		peer.WriteLen(length)
		for i := range length {
			reply(peer, v.RawGetInt(i+1))
		}
	default:
		if value == lua.LTrue {
			peer.WriteInt(1)
			return
		}
		peer.WriteNull()
	}
}

package explored_test

import (
	"runtime"
	"slices"
	"testing"

	"lockbench/internal/simulate/explore"
)

// TestSetPxLuaLeaseExclusionStall runs a trial in virtual time in which set-px-lua violates lease-exclusion.
// A client works for longer than `its lease`, & the next one is let in.
//
// It fails once that is no longer so.
func TestSetPxLuaLeaseExclusionStall(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // on one processor the same trial records the same
	f, err := explore.Decode([]byte(caseSetPxLuaLeaseExclusionStall))
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.Run()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(run.Violated(), f.Property) {
		t.Errorf("%s is not violated any more: %q is", f.Property, run.Violated())
	}
}

const caseSetPxLuaLeaseExclusionStall = `{
  "lockbench_case": 1,
  "found": "A client works for longer than \u0060its lease\u0060, & the next one is let in.",
  "property": "lease-exclusion",
  "violated": [
    "lease-exclusion"
  ],
  "seed": 7,
  "strategy": "aimed",
  "digest": "0123456789abcdef",
  "lock": "set-px-lua",
  "deployment": "single",
  "workload": "counter",
  "params": {
    "clients": 3,
    "processes": 2,
    "duration_ns": 2400000000,
    "ttl_ns": 800000000,
    "hold_ns": 560000000,
    "think_ns": 1000000,
    "keys": 1,
    "distribution": "one",
    "stock": 200,
    "seed": 1
  },
  "lock_params": {
    "wait": "backoff"
  },
  "plan": {
    "gates": [
      {
        "client": 2,
        "until": {
          "point": "granted"
        },
        "patience_ns": 1600000000
      },
      {
        "client": 1,
        "until": {
          "client": 2,
          "point": "granted"
        },
        "patience_ns": 2400000000
      }
    ],
    "steps": [
      {
        "when": {
          "at": {
            "point": "granted"
          }
        },
        "do": {
          "verb": "stall",
          "by_ns": 1200000000
        },
        "for_ns": 1200000000
      }
    ]
  }
}
`

package checker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a mistake in one place of the judge: what stands there is a condition, and becomes another.
type mutant struct{ file, is, becomes string }

var mutants = []mutant{
	{"exclusion.go", "ok && end > at", "ok && end > at+1"},
	{"exclusion.go", "ok && end > at", "ok && end >= at"},
	{"exclusion.go", "x.unstated == x.grants", "false"},
	{"exclusion.go", "x.unstated > 0", "false"},
	{"exclusion.go", "x.lapses && h.heir != nil && x.inside(h, h.heir.granted) && x.inside(h.heir, h.heir.granted)", "false"},
	{"exclusion.go", "x.lapses && h.heir != nil && x.inside(h, h.heir.granted) && x.inside(h.heir, h.heir.granted)", "h.heir != nil && x.inside(h, h.heir.granted) && x.inside(h.heir, h.heir.granted)"},
	{"exclusion.go", "h.end > o.second.granted", "true"},
	{"exclusion.go", "h.end > o.second.granted", "h.end >= o.second.granted"},
	{"exclusion.go", "other == h", "other != nil"},
	{"projection.go", "h.acquire.Client == op.Client && h.acquire.Life == op.Life", "h.acquire.Client == op.Client"},
	{"projection.go", "h.depth > 1", "h.depth > 2"},
	{"projection.go", "ok && until > h.until", "ok && until > h.until+200*time.Millisecond"},
	{"projection.go", "h.number() == op.Hold && h.acquire.Client == op.Client", "h.acquire.Client == op.Client"},
	{"projection.go", "ok && h.promised && op.Depth > 1 && until > h.until", "false"},
	{"projection.go", "ok && h.promised && op.Depth > 1 && until > h.until", "ok && h.promised && until > h.until"},
	{"reentrancy.go", "!x.lasts(e.hold, op.Return) || !refused && !counted", "!refused && !counted"},
	{"projection.go", "op.Outcome == histories.OK && h.acquire.Validity > 0", "false"},
	{"projection.go", "op.Outcome == histories.Refused:", "true:"},
	{"judge.go", "ev.Op.Kind == histories.Inject && ev.Op.Client == histories.Harness", "false"},
	{"integrity.go", "*before != 0", "false"},
	{"integrity.go", "g.notByOne || g.final >= low && g.final <= low+g.unknown", "g.notByOne || g.final <= low+g.unknown"},
	{"inventory.go", "p.soldOut.Kind != 0 && left > 0 && len(p.final) == p.segments", "false"},
	{"inventory.go", "p.ordered > p.initial:", "p.ordered >= p.initial:"},
	{"reentrancy.go", "op.Value == histories.ProbeMine ||", "true ||"},
	{"reentrancy.go", "!x.lasts(e.hold, op.Return) || !refused && !counted", "!x.lasts(e.hold, op.Return) || !counted"},
	{"ownerrelease.go", "op.Call > h.over && !x.shaken", "op.Call > h.over"},
	{"ownerrelease.go", "op.Call > h.over && !x.shaken", "op.Call > h.over+1 && !x.shaken"},
	{"ownerrelease.go", "op.Call > h.over && !x.shaken", "op.Call >= h.over && !x.shaken"},
	{"ownerrelease.go", "g.ended && g.release.Outcome == histories.OK", "g.ended"},
	{"ownerrelease.go", "op.Hold != 0 && h.number() == op.Hold && h.acquire.Client != op.Client", "false"},
	{"ownerrelease.go", "g.acquire.Outcome == histories.Refused || g.key != k.index", "false"},
	{"ownerrelease.go", "ok && a.why == late && a.acquire.Hold == op.Hold", "false"},
	{"ownerrelease.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "op.Kind == histories.Renew"},
	{"past.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "false"},
	{"past.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "op.Kind == histories.Renew"},
	{"fencing.go", "before > 0 && m.top[before-1].acquire.Fence >= h.acquire.Fence", "before > 0 && m.top[before-1].acquire.Fence > h.acquire.Fence+1"},
	{"fencing.go", "m.grants[i].granted >= sent", "m.grants[i].granted > sent"},
	{"fencing.go", "same != nil", "false"},
	{"renewal.go", "t != nil && t.granted < op.Call", "false"},
	{"renewal.go", "h.promised && h.until <= h.granted", "false"},
	{"renewal.go", "h.promised && h.until <= h.granted", "h.promised"},
	{"renewal.go", "left < given/4", "left < given/16"},
	{"renewal.go", "g.ended && g.release.Outcome == histories.OK && op.Call > g.release.Return", "false"},
	{"renewal.go", "g.ended && g.release.Outcome == histories.OK && op.Call > g.release.Return", "g.ended"},
	{"renewal.go", "g.taker.Hold != 0 && g.taker.Return < op.Call", "false"},
	{"renewal.go", "g.taker.Hold != 0 && g.taker.Return < op.Call", "g.taker.Hold != 0"},
	{"exacttry.go", "(t.taken == 0 || t.taken < op.Call)", "t.taken < op.Call"},
	{"exacttry.go", "(t.taken == 0 || t.taken < op.Call)", "t.taken <= op.Call"},
	{"exacttry.go", "!d.condemned && h.acquire.Call <= d.op.Return", "h.acquire.Call <= d.op.Return"},
	{"exacttry.go", "!d.condemned && h.acquire.Call <= d.op.Return", "!d.condemned && h.acquire.Call < d.op.Return"},
	{"exacttry.go", "c == closed && h != t.latest", "false"},
	{"windows.go", "len(s.ending) < n", "len(s.ending) <= n"},
	{"exclusion.go", "x.empty*10 > x.grants && x.empty > x.counts.Faults", "x.empty*10 > x.grants"},
	{"exclusion.go", "x.empty*10 > x.grants && x.empty > x.counts.Faults", "x.empty*10 > x.grants && x.counts.Faults == 0"},
	{"projection.go", "fault == nil || op.Call > fault.Call", "true"},
	{"projection.go", "h.acquire.Client == op.Client && h.acquire.Call <= op.Call", "false"},
	{"oracle.go", "h.fault != nil", "false"},
	{"judge.go", "!ev.Op.EndsClient()", "false"},
	{"judge.go", "!j.tally.injected", "false"},
	{"judge.go", "j.granted < j.tally.first && needsGrant", "false"},
	{"judge.go", "j.granted < j.tally.first && needsGrant", "j.granted < j.tally.first"},
	{"progress.go", "c == closed && h.fault != nil", "false"},
	{"progress.go", "at < 0", "true"},
	{"exacttry.go", "ev.Return || !ok", "true"},
	{"integrity.go", "op.Kind == histories.Write && op.Client != histories.Harness", "false"},
	{"inventory.go", "op.Stale()", "false"},
	{"register.go", "before.Fence > op.Fence", "before.Fence >= op.Fence"},
	{"register.go", "before.Fence > op.Fence", "false"},
	{"register.go", `op.Kind == histories.Read && checks == "checking"`, "op.Kind == histories.Read"},
	{"register.go", `op.Kind == histories.Read && checks == "checking"`, "false"},
	{"recovery.go", "v != nil && op.Outcome == histories.Unknown && op.Call <= v.since+x.bound", "false"},
	{"recovery.go", "v != nil && op.Outcome == histories.Unknown && op.Call <= v.since+x.bound", "v != nil && op.Outcome == histories.Unknown"},
	{"recovery.go", "now-from > x.header.BackOff.D()+retryGap && from-v.asked <= x.bound", "false"},
	{"recovery.go", "now-from > x.header.BackOff.D()+retryGap && from-v.asked <= x.bound", "now-from > x.header.BackOff.D()+retryGap"},
	{"recovery.go", "!v.held && i < 0", "!v.held"},
	{"recovery.go", "!v.held && i < 0", "false"},
	{"recovery.go", "ev.Op.Outcome != histories.OK", "false"},
	{"recovery.go", "c == began && h.fault == nil", "c == began"},
	{"recovery.go", "c == closed && v.behind && len(k.live)+len(k.going) == 0", "false"},
	{"recovery.go", "v.waited || took > x.bound", "v.waited"},
	{"recovery.go", "asking-v.asked <= x.bound", "asking-v.since <= x.bound"},
	{"recovery.go", "asking-v.asked <= x.bound", "false"},
	{"recovery.go", "h.granted-v.asked <= x.bound", "false"},
	{"recovery.go", "h.granted-v.asked <= x.bound", "true"},
}

// survivors are mutants that a short history cannot tell from the original, and why.
var survivors = map[mutant]string{
	{"ownerrelease.go", "op.Hold != 0 && h.number() == op.Hold && h.acquire.Client != op.Client", "false"}: "recent holds are also found among past acquires; this finds those that are older",
}

// TestMutants builds the judge with every mistake in it, each asleep until it is named, and wants the
// corpus or the differential test to fail when it is awake.
func TestMutants(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("it builds the tests once more")
	}
	binary := buildMutants(t)
	if out, err := runMutant(binary, -1); err != nil {
		t.Fatalf("without a mistake: %v\n%s", err, out)
	}
	for i, m := range mutants {
		if _, err := runMutant(binary, i); err == nil && survivors[m] == "" {
			t.Errorf("%s: nothing failed with %q for %q", m.file, m.becomes, m.is)
		}
	}
}

func runMutant(binary string, i int) (string, error) {
	cmd := exec.Command(binary, "-test.run", "^(TestCorpus|TestDifferential)$", "-test.failfast")
	cmd.Dir = filepath.Dir(binary)
	cmd.Env = append(os.Environ(), "LOCKBENCH_DIFFERENTIAL=3000", fmt.Sprint("LOCKBENCH_MUTANT=", i))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// buildMutants copies what is tested into a module of its own, puts the mistakes in, and builds its tests.
func buildMutants(t *testing.T) string {
	root := t.TempDir()
	for _, pattern := range []string{"go.mod", "go.sum", "checker/*.go", "histories/*.go", "histories/corpus/*"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			copyMutated(t, root, strings.TrimPrefix(file, "../"))
		}
	}
	awake := "package checker\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar awake, _ = strconv.Atoi(os.Getenv(\"LOCKBENCH_MUTANT\"))\n"
	if err := os.WriteFile(filepath.Join(root, "checker", "awake.go"), []byte(awake), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "checker", "mutants.test")
	cmd := exec.Command("go", "test", "-mod=mod", "-vet=off", "-c", "-o", binary, "./checker")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func copyMutated(t *testing.T, root, file string) {
	base := filepath.Base(file)
	if base == "mutants_test.go" {
		return
	}
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, m := range mutants {
		if m.file == base && !done[m.is] {
			done[m.is] = true
			text = []byte(mutate(t, string(text), m))
		}
	}
	to := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// mutate puts all mistakes of one place there: whichever is awake decides, and the original if none is.
func mutate(t *testing.T, text string, place mutant) string {
	if strings.Count(text, place.is) != 1 {
		t.Fatalf("%s: %q stands there %d times, want once", place.file, place.is, strings.Count(text, place.is))
	}
	suffix := ""
	for _, s := range []string{" ||", ":"} {
		if strings.HasSuffix(place.is, s) {
			suffix = s
		}
	}
	condition, asleep := "", ""
	for i, m := range mutants {
		if m.file == place.file && m.is == place.is {
			condition += fmt.Sprintf("awake == %d && (%s) || ", i, strings.TrimSuffix(m.becomes, suffix))
			asleep += fmt.Sprintf("awake != %d && ", i)
		}
	}
	return strings.Replace(text, place.is, fmt.Sprintf("(%s%s(%s))%s", condition, asleep, strings.TrimSuffix(place.is, suffix), suffix), 1)
}

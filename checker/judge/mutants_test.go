package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant is a deliberate mistake in the judge: one condition in the source code is replaced by another condition.
type mutant struct{ file, is, becomes string }

var mutants = slices.Concat(answerMutants, []mutant{
	{"exclusion.go", "ok && end > at", "ok && end > at+1"},
	{"exclusion.go", "ok && end > at", "ok && end >= at"},
	{"exclusion.go", "x.unstated == x.grants", "false"},
	{"exclusion.go", "x.unstated > 0", "false"},
	{"exclusion.go", "x.Lapses && h.Heir != nil && x.inside(h, h.Heir.Granted) && x.inside(h.Heir, h.Heir.Granted)", "false"},
	{"exclusion.go", "x.Lapses && h.Heir != nil && x.inside(h, h.Heir.Granted) && x.inside(h.Heir, h.Heir.Granted)", "h.Heir != nil && x.inside(h, h.Heir.Granted) && x.inside(h.Heir, h.Heir.Granted)"},
	{"exclusion.go", "h.End > o.second.Granted", "true"},
	{"exclusion.go", "h.End > o.second.Granted", "h.End >= o.second.Granted"},
	{"exclusion.go", "other == h", "other != nil"},
	{"projection.go", "h.Acquire.Client == op.Client && h.Acquire.Life == op.Life", "h.Acquire.Client == op.Client"},
	{"projection.go", "h.Depth > 1", "h.Depth > 2"},
	{"projection.go", "ok && until > h.Until", "ok && until > h.Until+200*time.Millisecond"},
	{"projection.go", "h.Number() == op.Hold && h.Acquire.Client == op.Client", "h.Acquire.Client == op.Client"},
	{"projection.go", "ok && h.Promised && int(op.Depth) >= h.Depth && until > h.Until", "false"},
	{"projection.go", "ok && h.Promised && int(op.Depth) >= h.Depth && until > h.Until", "ok && h.Promised && until > h.Until"},
	{"projection.go", "h.earlier[0].until <= at", "true"},
	{"orphan.go", "op.Outcome == histories.Refused && l.Kind == histories.Release && l.Outcome == histories.Unknown && u.renewed == u.held", "false"},
	{"orphan.go", "op.Outcome == histories.Refused && l.Kind == histories.Release && l.Outcome == histories.Unknown && u.renewed == u.held", "op.Outcome == histories.Refused && l.Kind == histories.Release && l.Outcome == histories.Unknown"},
	{"orphan.go", "op.Outcome == histories.Refused && l.Kind == histories.Release && l.Outcome == histories.Unknown && u.renewed == u.held", "op.Outcome == histories.Refused && u.renewed == u.held"},
	{"reentrancy.go", "e.hold.Promised && e.until < op.Return || !refused && !counted && !renumbered", "!refused && !counted && !renumbered"},
	{"projection.go", "op.Outcome == histories.OK && h.Acquire.Validity > 0", "false"},
	{"projection.go", "op.Outcome == histories.Refused:", "true:"},
	{"judge.go", "ev.Op.Kind == histories.Inject && ev.Op.Client == histories.Harness", "false"},
	{"integrity.go", "*before != 0", "false"},
	{"integrity.go", "g.notByOne || g.final >= low && g.final <= low+g.unknown", "g.notByOne || g.final <= low+g.unknown"},
	{"inventory.go", "p.soldOut.Kind != 0 && left > 0 && len(p.final) == p.segments", "false"},
	{"inventory.go", "p.ordered > p.initial:", "p.ordered >= p.initial:"},
	{"reentrancy.go", "e != nil && e.open", "false"},
	{"reentrancy.go", "op.Value == histories.ProbeMine ||", "true ||"},
	{"reentrancy.go", "e.hold.Promised && e.until < op.Return || !refused && !counted && !renumbered", "e.hold.Promised && e.until < op.Return || !counted && !renumbered"},
	{"ownerrelease.go", "op.Call > h.Over && !x.Header.SilentRenewals", "op.Call > h.Over"},
	{"ownerrelease.go", "(a.why == again || a.why == late) && x.excused(op)", "a.why == late && x.excused(op)"},
	{"ownerrelease.go", "(a.why == again || a.why == late) && x.excused(op)", "a.why == again && x.excused(op)"},
	{"ownerrelease.go", "x.Shaken || x.mayLoseMessage(op.Client, op.Call)", "x.Shaken"},
	{"disturbance.go", "s.lossy >= from", "false"},
	{"disturbance.go", "s.lossy >= from", "s.lossy >= 0"},
	{"disturbance.go", "!o.lossless", "true"},
	{"disturbance.go", "!o.lossless", "false"},
	{"progress.go", "h.Until == histories.Forever || x.Header.SilentRenewals", "h.Until == histories.Forever"},
	{"properties.go", "op.Outcome == histories.OK && op.Validity > f.lease", "false"},
	{"ownerrelease.go", "op.Call > h.Over && !x.Header.SilentRenewals", "op.Call > h.Over+1 && !x.Header.SilentRenewals"},
	{"ownerrelease.go", "op.Call > h.Over && !x.Header.SilentRenewals", "op.Call >= h.Over && !x.Header.SilentRenewals"},
	{"ownerrelease.go", "g.Ended && g.Release.Outcome == histories.OK", "g.Ended"},
	{"ownerrelease.go", "op.Hold != 0 && h.Number() == op.Hold && h.Acquire.Client != op.Client", "false"},
	{"ownerrelease.go", "g.Acquire.Outcome == histories.Refused || g.Key != k.Index", "false"},
	{"ownerrelease.go", "ok && a.why == late && a.acquire.Hold == op.Hold", "false"},
	{"ownerrelease.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "op.Kind == histories.Renew"},
	{"past.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "false"},
	{"past.go", "op.Kind == histories.Renew && op.Outcome != histories.Refused", "op.Kind == histories.Renew"},
	{"fencing.go", "before > 0 && m.top[before-1].Acquire.Fence >= h.Acquire.Fence", "before > 0 && m.top[before-1].Acquire.Fence > h.Acquire.Fence+1"},
	{"fencing.go", "m.grants[i].Granted >= sent", "m.grants[i].Granted > sent"},
	{"fencing.go", "same != nil && reentered(same, h)", "false"},
	{"fencing.go", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End", "false"},
	{"fencing.go", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End", "h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End"},
	{"fencing.go", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Call < earlier.End"},
	{"fencing.go", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End", "earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1"},
	{"renewal.go", "t != nil && t.Granted < op.Call", "false"},
	{"renewal.go", "h.Promised && h.Until <= h.Granted", "false"},
	{"renewal.go", "h.Promised && h.Until <= h.Granted", "h.Promised"},
	{"renewal.go", "left < given/4", "left < given/16"},
	{"renewal.go", "g.Ended && g.Release.Outcome == histories.OK && op.Call > g.Release.Return", "false"},
	{"renewal.go", "g.Ended && g.Release.Outcome == histories.OK && op.Call > g.Release.Return", "g.Ended"},
	{"renewal.go", "g.Taker.Hold != 0 && g.Taker.Return < op.Call", "false"},
	{"renewal.go", "g.Taker.Hold != 0 && g.Taker.Return < op.Call", "g.Taker.Hold != 0"},
	{"exacttry.go", "(t.taken == 0 || t.taken < op.Call)", "t.taken < op.Call"},
	{"exacttry.go", "(t.taken == 0 || t.taken < op.Call)", "t.taken <= op.Call"},
	{"exacttry.go", "!d.condemned && h.Acquire.Call <= d.op.Return", "h.Acquire.Call <= d.op.Return"},
	{"exacttry.go", "!d.condemned && h.Acquire.Call <= d.op.Return", "!d.condemned && h.Acquire.Call < d.op.Return"},
	{"exacttry.go", "c == projection.Closed && h != t.latest", "false"},
	{"windows.go", "len(s.ending) < n", "len(s.ending) <= n"},
	{"exclusion.go", "x.empty*10 > x.grants && x.empty > x.Counts.Faults", "x.empty*10 > x.grants"},
	{"exclusion.go", "x.empty*10 > x.grants && x.empty > x.Counts.Faults", "x.empty*10 > x.grants && x.Counts.Faults == 0"},
	{"projection.go", "fault == nil || op.Call > fault.Call", "true"},
	{"projection.go", "h.Acquire.Client == op.Client && h.Acquire.Call <= op.Call", "false"},
	{"oracle.go", "h.Fault != nil", "false"},
	{"judge.go", "!ev.Op.EndsClient()", "false"},
	{"judge.go", "!j.tally.injected", "false"},
	{"judge.go", "j.granted < j.tally.first && needsGrant", "false"},
	{"judge.go", "j.granted < j.tally.first && needsGrant", "j.granted < j.tally.first"},
	{"progress.go", "c == projection.Closed && h.Fault != nil", "false"},
	{"progress.go", "at < 0", "true"},
	{"exclusion.go", "!x.Header.WaitsInside", "true"},
	{"renewal.go", "x.Header.WaitsInside && l.until < histories.Forever", "false"},
	{"progress.go", "f.disturbed(a.client, a.call)", "false"},
	{"progress.go", "f.disturbed(a.client, a.call)", "true"},
	{"exacttry.go", "ev.Return || !ok", "true"},
	{"integrity.go", "op.Kind == histories.Write && op.Client != histories.Harness", "false"},
	{"inventory.go", "op.Stale()", "false"},
	{"register.go", "before.Fence > op.Fence", "before.Fence >= op.Fence"},
	{"register.go", "before.Fence > op.Fence", "false"},
	{"register.go", `op.Kind == histories.Read && checks == "checking"`, "op.Kind == histories.Read"},
	{"register.go", `op.Kind == histories.Read && checks == "checking"`, "false"},
	{"recovery.go", "v != nil && op.Outcome == histories.Unknown && op.Call <= v.since+x.Bound", "false"},
	{"recovery.go", "v != nil && op.Outcome == histories.Unknown && op.Call <= v.since+x.Bound", "v != nil && op.Outcome == histories.Unknown"},
	{"recovery.go", "now-from > x.Header.BackOff.D()+retryGap && from-v.asked <= x.Bound", "false"},
	{"recovery.go", "now-from > x.Header.BackOff.D()+retryGap && from-v.asked <= x.Bound", "now-from > x.Header.BackOff.D()+retryGap"},
	{"recovery.go", "!v.held && i < 0", "!v.held"},
	{"recovery.go", "!v.held && i < 0", "false"},
	{"recovery.go", "ev.Op.Outcome != histories.OK", "false"},
	{"recovery.go", "c == projection.Began && h.Fault == nil", "c == projection.Began"},
	{"recovery.go", "c == projection.Closed && v.behind && len(k.Live)+len(k.Releasing) == 0", "false"},
	{"recovery.go", "v.waited || took > x.Bound", "v.waited"},
	{"recovery.go", "asking-v.asked <= x.Bound", "asking-v.since <= x.Bound"},
	{"recovery.go", "asking-v.asked <= x.Bound", "false"},
	{"recovery.go", "h.Granted-v.asked <= x.Bound", "false"},
	{"recovery.go", "h.Granted-v.asked <= x.Bound", "true"},
	{"disturbance.go", "op.Value == histories.Lossless", "op.Value == histories.Lossless || op.Value > histories.Killed"},
	{"disturbance.go", "op.Value == histories.Working", "false"},
	{"backedpromise.go", "grant.Validity > 0 && grant.Validity < least-x.Slack", "false"},
	{"backedpromise.go", "grant.Validity > 0 && grant.Validity < least-x.Slack", "grant.Validity < least-x.Slack"},
	{"backedpromise.go", "grant.Validity > 0 && grant.Validity < least-x.Slack", "grant.Validity > 0 && grant.Validity < least"},
	{"backedpromise.go", "grant.Validity > 0 && grant.Validity < least-x.Slack", "grant.Validity > 0 && grant.Validity <= least-x.Slack"},
	{"backedpromise.go", "x.Shaken:", "false:"},
	{"backedpromise.go", "f.reply <= h.End", "true"},
	{"backedpromise.go", "enough&^s.passive == 0", "enough == 0"},
	{"backedpromise.go", "enough&^s.passive == 0", "false"},
	{"backedpromise.go", "s.backing&^s.passive == 0", "false"},
	{"backedpromise.go", "e.Validity >= stated-o.reply", "true"},
	{"backedpromise.go", "e.Validity >= stated-o.reply", "false"},
	{"backedpromise.go", "e.Validity >= stated-o.reply", "e.Validity >= stated-o.call"},
	{"backedpromise.go", "x.inHolds == 0 && 2*x.long <= x.holds", "x.inHolds == 0"},
	{"backedpromise.go", "x.inHolds == 0 && 2*x.long <= x.holds", "false"},
	{"sightings.go", "len(p.entries) < op.Sightings()", "false"},
	{"properties.go", "f.Header.Bound > f.Header.TTL", "false"},
	{"sightings.go", "h.Granted <= o.call && h.Promised && h.StatedAt(o.call) > o.reply", "h.Promised && h.StatedAt(o.call) > o.reply"},
	{"sightings.go", "h.Granted <= o.call && h.Promised && h.StatedAt(o.call) > o.reply", "h.Granted <= o.call && h.Promised"},
	{"sightings.go", "s.occupied.free(k, o.call)", "false"},
	{"sightings.go", "released && !o.extra[h.Acquire.Client]", "released"},
	{"sightings.go", "released && !o.extra[h.Acquire.Client]", "false"},
	{"sightings.go", "value == e.Value && s.active&bit(e) == 0", "true"},
	{"sightings.go", "value == e.Value && s.active&bit(e) == 0", "value == e.Value"},
	{"sightings.go", "len(o.open) == 0 && len(k.Live)+len(k.Releasing) == 0 && o.until <= from", "len(k.Live)+len(k.Releasing) == 0 && o.until <= from"},
	{"sightings.go", "len(o.open) == 0 && len(k.Live)+len(k.Releasing) == 0 && o.until <= from", "len(o.open) == 0 && len(k.Live)+len(k.Releasing) == 0"},
	{"seen.go", "op.Return > h.Until", "false"},
	{"seen.go", "h.observed.Value != op.Value || h.observed.Fence != op.Fence", "false"},
	{"seen.go", "!h.Promised || op.Call < h.Granted || op.Depth > 1 || op.Validity == histories.Unbounded", "!h.Promised || op.Depth > 1 || op.Validity == histories.Unbounded"},
	{"seen.go", "!h.Promised || op.Call < h.Granted || op.Depth > 1 || op.Validity == histories.Unbounded", "!h.Promised || op.Call < h.Granted"},
	{"seen.go", "p.step == 0 || len(k.Live) != 1", "p.step == 0 || len(k.Live) > 1"},
	{"seen.go", "h.observed != nil && h.Vanished == 0", "false"},
	{"progress.go", "h.Vanished > 0 && !x.Shaken", "false"},
	{"progress.go", "h.Vanished > 0 && !x.Shaken", "h.Vanished > 0"},
	{"ownerrelease.go", "h.Vanished > 0 && op.Call > h.Vanished", "false"},
	{"ownerrelease.go", "x.unknown[asker{g.Acquire.Client, g.Key}] > g.Acquire.Call", "false"},
	{"ownerrelease.go", "x.unknown[asker{g.Acquire.Client, g.Key}] > g.Acquire.Call", "x.unknown[asker{g.Acquire.Client, g.Key}] > 0"},
	{"judge.go", "h.SilentRenewals", "true"},
	{"progress.go", "until < histories.Forever || h.Until == histories.Forever || x.disturbed(h.Acquire.Client, h.Release.Call)", "true"},
	{"disturbance.go", "op.Kind == histories.Heal:", "false:"},
	{"disturbance.go", "len(s.open) > 0 || s.ended >= from", "s.ended >= from"},
	{"disturbance.go", "len(s.open) > 0 || s.ended >= from", "len(s.open) > 0"},
	{"stillheld.go", "s.alike || len(s.contents) < 2", "len(s.contents) < 2"},
	{"stillheld.go", "s.alike || len(s.contents) < 2", "s.alike"},
	{"stillheld.go", "s.refused != nil && s.refused.release.Client == ev.Op.Client", "false"},
	{"stillheld.go", "r == nil || o.call < r.release.Return", "r == nil"},
	{"stillheld.go", "r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0", "false"},
	{"stillheld.go", "r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0", "r.left&(s.cleared|r.leased)&^s.passive == 0"},
	{"stillheld.go", "r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0", "r.request && s.own || r.left&(s.cleared|r.leased)&^s.passive == 0"},
	{"stillheld.go", "r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0", "r.request && !s.differ || r.left&(s.cleared|r.leased)&^s.passive == 0"},
	{"stillheld.go", "r.request && (s.own || !s.differ) || r.left&(s.cleared|r.leased)&^s.passive == 0", "r.request && (s.own || !s.differ)"},
	{"stillheld.go", "e.Validity != histories.Unbounded && o.call+e.Validity <= r.hold.Until+2*f.Slack", "true"},
	{"stillheld.go", "e.Validity != histories.Unbounded && o.call+e.Validity <= r.hold.Until+2*f.Slack", "false"},
	{"stillheld.go", "ok && value == e.Value && had.hold == r.hold.Number()", "ok"},
	{"disturbance.go", "op.Kind == histories.Seen && !f.disturbed(histories.Harness, op.Call)", "false"},
	{"disturbance.go", "op.Kind == histories.Seen && !f.disturbed(histories.Harness, op.Call)", "op.Kind == histories.Seen"},
	{"unexplained.go", "op.Kind != histories.Acquire && op.Kind != histories.Release || fault", "op.Kind != histories.Acquire && op.Kind != histories.Release"},
	{"unexplained.go", "ev.Return && op.Outcome == histories.Unknown && !granted && op.Error != histories.Cancelled && (op.Return-op.Call < soonest || timedOut(op) || x.attended(op))", "ev.Return && op.Outcome == histories.Unknown"},
	{"unexplained.go", "ev.Return && op.Outcome == histories.Unknown && !granted && op.Error != histories.Cancelled && (op.Return-op.Call < soonest || timedOut(op) || x.attended(op))", "ev.Return && op.Outcome == histories.Unknown && op.Return-op.Call < soonest"},
	{"unexplained.go", "op.Validity != 0", "false"},
	{"truthful.go", "x.Header.Fault != \"\" && max(x.Stall, x.SlowestRead) < busy", "x.Header.Fault != \"\""},
	{"truthful.go", "x.Header.Fault != \"\" && max(x.Stall, x.SlowestRead) < busy", "max(x.Stall, x.SlowestRead) < busy"},
	{"truthful.go", "x.Header.Fault != \"\" && max(x.Stall, x.SlowestRead) < busy", "x.Header.Fault != \"\" && x.Stall < busy"},
	{"truthful.go", "x.Header.Fault != \"\" && max(x.Stall, x.SlowestRead) < busy", "x.Header.Fault != \"\" && x.SlowestRead < busy"},
	{"unexplained.go", "timedOut(&before)", "false"},
	{"unexplained.go", "ev.Return && op.Outcome == histories.Refused && timedOut(op)", "false"},
	{"unexplained.go", "len(x.timeouts) <= fewTimeouts || len(x.timeouts) <= x.refused", "len(x.timeouts) <= x.refused"},
	{"unexplained.go", "len(x.timeouts) <= fewTimeouts || len(x.timeouts) <= x.refused", "len(x.timeouts) <= fewTimeouts"},
	{"unexplained.go", "found && op.Kind == histories.Acquire && op.Call >= before.Return", "found"},
	{"truthful.go", "x.lost[op.Client] != op.Hold", "true"},
	{"truthful.go", "complete && !x.ShakenPrimary && !x.ChoosesKeys", "complete && !x.ChoosesKeys"},
	{"truthful.go", "w.stray >= h.Acquire.Call", "false"},
	{"truthful.go", "op.Return >= r.until", "false"},
	{"truthful.go", "op.Return >= h.Until || x.Shaken", "op.Return > h.Until || x.Shaken"},
	{"truthful.go", "op.Return >= h.Until || x.Shaken", "op.Return >= h.Until"},
	{"truthful.go", "x.lost[op.Client] == h.Number()", "false"},
	{"truthful.go", "x.disturbed(op.Client, op.Call)", "false"},
	{"truthful.go", "h.Depth == 1", "false"},
	{"truthful.go", "op.Kind == histories.Renew && op.Outcome == histories.Refused", "false"},
	{"truthful.go", "contended || w.clean != x.upsets", "contended"},
	{"truthful.go", "contended || w.clean != x.upsets", "w.clean != x.upsets"},
	{"truthful.go", "len(k.Live)+len(k.Releasing) > 0 || w.free >= op.Call", "w.free >= op.Call"},
	{"truthful.go", "len(k.Live)+len(k.Releasing) > 0 || w.free >= op.Call", "len(k.Live)+len(k.Releasing) > 0"},
	{"truthful.go", "op.Error == histories.Cancelled", "false"},
	{"handoff.go", "op.Wait == histories.Unlimited || op.Wait > 0", "op.Wait == histories.Unlimited"},
	{"handoff.go", "op.Wait == histories.Unlimited || op.Wait > 0", "true"},
	{"handoff.go", "alone && x.quiet()", "true"},
	{"handoff.go", "x.Header.Notifies", "false"},
	{"handoff.go", "x.Header.Notifies", "true"},
	{"handoff.go", "len(k.Live)+len(k.Releasing) == 0 && w.lost < h.Release.Call", "len(k.Live)+len(k.Releasing) == 0"},
	{"handoff.go", "len(k.Live)+len(k.Releasing) == 0 && w.lost < h.Release.Call", "len(k.Live)+len(k.Releasing) == 0 && w.lost == 0"},
	{"handoff.go", "!w.known || w.clean != x.losses || !x.quiet()", "!w.known || !x.quiet()"},
	{"handoff.go", "!w.known || w.clean != x.losses || !x.quiet()", "w.clean != x.losses || !x.quiet()"},
	{"handoff.go", "!w.known || w.clean != x.losses || !x.quiet()", "!w.known || w.clean != x.losses"},
	{"disturbance.go", "op.Value == histories.Lossless", "true"},
	{"disturbance.go", "op.Value == histories.Lossless", "false"},
	{"disturbance.go", "lossless && op.Return-s.open[i].call > longestLossless", "false"},
	{"waited.go", "w.gap+p.slack < op.Validity", "true"},
	{"waited.go", "w.gap+p.slack < op.Validity", "false"},
	{"waited.go", "h.Release.Outcome != histories.OK || !h.Promised || h.Closed >= h.Until", "!h.Promised || h.Closed >= h.Until"},
	{"waited.go", "h.Release.Outcome != histories.OK || !h.Promised || h.Closed >= h.Until", "h.Release.Outcome != histories.OK || !h.Promised"},
	{"recovery.go", "until > 0 && until < now", "false"},
	{"timed.go", "by > 2*max(t.Stall, t.SlowestRead)", "false"},
	{"timed.go", "by > 2*max(t.Stall, t.SlowestRead)", "by > t.Stall"},
	{"timed.go", "by <= 0", "by <= 1_000_000"},
	{"timeouts.go", "early > 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled", "early > 0 && op.Outcome == histories.Refused && op.Error != histories.Cancelled"},
	{"disturbance.go", "s != nil && s.lossy >= 0 && s.lossy >= call-reconnectTime", "false"},
	{"disturbance.go", "s != nil && s.lossy >= 0 && s.lossy >= call-reconnectTime", "s != nil && s.lossy >= 0 && s.lossy >= call"},
	{"responsive.go", "strings.HasPrefix(op.Error, histories.Panicked) && x.countViolation()", "false"},
	{"leftover.go", "o.call >= since+cleanupTime && !l.ended", "!l.ended"},
	{"leftover.go", "o.call >= since+cleanupTime && !l.ended", "o.call >= since+cleanupTime"},
	{"leftover.go", "lock != 0 && f.present&lock == lock && most", "lock != 0 && most"},
	{"leftover.go", "lock != 0 && f.present&lock == lock && most", "lock != 0 && f.present&lock == lock"},
	{"leftover.go", "e.Validity != histories.Unbounded", "true"},
	{"falsealarm.go", "op.Value == histories.Told && h != nil && h.Number() == op.Hold && h.Promised && op.Call+h.Given/3 < h.Until", "h != nil && h.Number() == op.Hold && h.Promised && op.Call+h.Given/3 < h.Until"},
	{"falsealarm.go", "op.Value == histories.Told && h != nil && h.Number() == op.Hold && h.Promised && op.Call+h.Given/3 < h.Until", "op.Value == histories.Told && h != nil && h.Number() == op.Hold && h.Promised"},
	{"falsealarm.go", "told.Hold == op.Hold && op.Outcome == histories.OK && calm", "false"},
	{"falsealarm.go", "told.Hold == op.Hold && op.Outcome == histories.OK && calm", "told.Hold == op.Hold && op.Outcome == histories.OK"},
	{"exclusion.go", "other != h && other.Heir == h", "false"},
	{"exclusion.go", "!empty && x.inside(other, h.Granted)", "x.inside(other, h.Granted)"},
	{"timeouts.go", "early > 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled", "early > 0 && delayed == op.Call && op.Outcome == histories.Refused"},
	{"timeouts.go", "early > 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled", "early >= 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled"},
	{"timeouts.go", "early > 0 && delayed == op.Call && op.Outcome == histories.Refused && op.Error != histories.Cancelled", "early > 0 && delayed == op.Call && op.Error != histories.Cancelled"},
	{"responsive.go", "x.faults[op.Client] != nil || x.faults[histories.Harness] != nil", "false"},
	{"responsive.go", "op.Wait > 0", "false"},
	{"responsive.go", "op.Wait == 0 || op.Wait == histories.Unlimited", "op.Wait == 0"},
	{"abandoned.go", "op.Outcome == histories.Unknown || op.Outcome == histories.Refused && (op.Wait > 0 || op.Error == histories.Cancelled)", "op.Outcome == histories.Unknown"},
	{"abandoned.go", "op.Outcome == histories.Unknown || op.Outcome == histories.Refused && (op.Wait > 0 || op.Error == histories.Cancelled)", "op.Outcome != histories.OK"},
	{"abandoned.go", "c == projection.Closed && h.Fault != nil", "false"},
	{"abandoned.go", "x.disturbed(histories.Harness, w.last.Call)", "false"},
	{"abandoned.go", "!h.Promised || x.Header.SilentRenewals", "!h.Promised"},
	{"lossnotice.go", "h.Promised && h.Until != histories.Forever && !x.Header.SilentRenewals", "h.Promised && h.Until != histories.Forever"},
	{"lossnotice.go", "h.Promised && h.Until != histories.Forever && !x.Header.SilentRenewals", "h.Promised && !x.Header.SilentRenewals"},
	{"lossnotice.go", "h.Promised && h.Until != histories.Forever && !x.Header.SilentRenewals", "h.Until != histories.Forever && !x.Header.SilentRenewals"},
	{"lossnotice.go", "!taken && other != h", "other != h"},
	{"lossnotice.go", "h.Confirmed != histories.Forever", "false"},
	{"lossnotice.go", "op.Outcome == histories.OK:", "false:"},
	{"lossnotice.go", "op.Outcome == histories.Refused && !refused", "false"},
	{"reentrancy.go", "op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0 && op.Fence != outer.Fence", "false"},
	{"reentrancy.go", "op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0 && op.Fence != outer.Fence", "op.Outcome == histories.OK && op.Fence != 0 && op.Fence != outer.Fence"},
	{"reentrancy.go", "op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0 && op.Fence != outer.Fence", "op.Outcome == histories.OK && outer.Fence != 0 && op.Fence != outer.Fence"},
	{"reentrancy.go", "op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0 && op.Fence != outer.Fence", "op.Outcome == histories.OK && op.Fence != 0 && outer.Fence != 0"},
	{"unexplained.go", "!x.observed || op.Call-x.until > longestGap", "!x.observed"},
	{"unexplained.go", "waits && x.observed && x.since-op.Call <= longestGap && op.Return-x.until <= longestGap", "false"},
	{"unexplained.go", "waits && x.observed && x.since-op.Call <= longestGap && op.Return-x.until <= longestGap", "waits && x.observed && x.since-op.Call <= longestGap"},
	{"unexplained.go", "waits && x.observed && x.since-op.Call <= longestGap && op.Return-x.until <= longestGap", "waits && x.observed && op.Return-x.until <= longestGap"},
	{"unexplained.go", "op.Return >= fault", "false"},
	{"disturbance.go", "s.open[i].delay && op.Return-s.open[i].call > shortDelay", "false"},
	{"disturbance.go", "s.open[i].delay && op.Return-s.open[i].call > shortDelay", "s.open[i].delay"},
	{"disturbance.go", "o.delay && f.Until-o.call > shortDelay", "false"},
	{"disturbance.go", "!delay", "true"},
	{"stray.go", "e.open[op.Client] || op.Outcome == histories.OK", "op.Outcome == histories.OK"},
	{"stray.go", "!was.explained && len(was.open) == 0 && was.refused.Kind != 0 && o.call >= s.due(was, f)", "!was.explained && was.refused.Kind != 0 && o.call >= s.due(was, f)"},
	{"stray.go", "!was.explained && len(was.open) == 0 && was.refused.Kind != 0 && o.call >= s.due(was, f)", "!was.explained && len(was.open) == 0 && was.refused.Kind != 0"},
	{"stray.go", "!was.explained && len(was.open) == 0 && was.refused.Kind != 0 && o.call >= s.due(was, f)", "len(was.open) == 0 && was.refused.Kind != 0 && o.call >= s.due(was, f)"},
	{"stray.go", "s.busy > s.before", "false"},
	{"stray.go", "f.present&s.lock() != 0", "f.present&s.always != 0"},
	{"stray.go", "f.present&s.lock() != 0", "f.present&s.absent != 0"},
	{"stray.go", "s.cleansUp && op.Outcome == histories.Unknown && op.Wait > 0 && op.Return-op.Call >= op.Wait", "false"},
	{"stray.go", "s.cleansUp && op.Outcome == histories.Unknown && op.Wait > 0 && op.Return-op.Call >= op.Wait", "op.Outcome == histories.Unknown && op.Wait > 0 && op.Return-op.Call >= op.Wait"},
	{"stray.go", "s.cleansUp && op.Outcome == histories.Unknown && op.Wait > 0 && op.Return-op.Call >= op.Wait", "s.cleansUp && op.Outcome == histories.Unknown"},
	{"stray.go", "e.refused.Outcome == histories.Refused", "true"},
	{"disturbance.go", "f.harmed || !f.calm()", "f.harmed"},
	{"disturbance.go", "f.harmed || !f.calm()", "!f.calm()"},
	{"judge.go", "ev.Op.Value != histories.Replicas", "true"},
	{"lossnotice.go", "x.open[client]", "false"},
	{"lossnotice.go", "op.Return-op.Call > noticeTime", "false"},
	{"lossnotice.go", "op.Return-op.Call > noticeTime", "true"},
	{"disturbance.go", "o.pause", "true"},
	{"disturbance.go", "pause || delay || cancelled", "pause || delay"},
	{"judge.go", "j.tally.settled >= settledLeast && j.tally.unsettled*2 > j.tally.settled:", "false:"},
	{"judge.go", "j.tally.settled >= settledLeast && j.tally.unsettled*2 > j.tally.settled:", "j.tally.unsettled*2 > j.tally.settled:"},
})

// survivors lists the mutants that the tests cannot detect, with the reason.
var survivors = map[mutant]string{
	{"ownerrelease.go", "op.Hold != 0 && h.Number() == op.Hold && h.Acquire.Client != op.Client", "false"}: "recent holds are also found among past acquires; this finds those that are older",
}

// TestMutants inserts deliberate mistakes into the judge, one at a time. It checks that the tests fail with each
// mistake, except those listed in survivors.
func TestMutants(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("it builds the tests once more")
	}
	binary := buildMutants(t)
	if out, err := runMutant(binary, -1); err != nil {
		t.Fatalf("without a mistake: %v\n%s", err, out)
	}
	for i, m := range mutants {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			if _, err := runMutant(binary, i); err == nil && survivors[m] == "" {
				t.Errorf("%s: nothing failed with %q for %q", m.file, m.becomes, m.is)
			}
		})
	}
}

func runMutant(binary string, i int) (string, error) {
	cmd := exec.Command(binary, "-test.run", "^(TestCorpus|TestDifferential)$", "-test.failfast")
	cmd.Dir = filepath.Dir(binary)
	cmd.Env = append(os.Environ(), "LOCKBENCH_DIFFERENTIAL=3000", fmt.Sprint("LOCKBENCH_MUTANT=", i))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// buildMutants copies the tested packages into a temporary module, inserts the mutants, and builds the tests. It
// returns the path of the test binary.
func buildMutants(t *testing.T) string {
	root := t.TempDir()
	for _, pattern := range []string{"go.mod", "go.sum", "checker/*.go", "checker/*/*.go", "histories/*.go", "histories/edn/*.go", "histories/corpus/*"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			copyMutated(t, root, strings.TrimPrefix(file, "../../"))
		}
	}
	for _, name := range []string{"judge", "oracle", "projection", "properties"} {
		awake := "package " + name + "\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar awake, _ = strconv.Atoi(os.Getenv(\"LOCKBENCH_MUTANT\"))\n"
		if err := os.WriteFile(filepath.Join(root, "checker", name, "awake.go"), []byte(awake), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(root, "checker", "judge", "mutants.test")
	cmd := exec.Command("go", "test", "-mod=mod", "-vet=off", "-c", "-o", binary, "./checker/judge")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func copyMutated(t *testing.T, root, file string) {
	base := filepath.Base(file)
	if strings.HasSuffix(base, "mutants_test.go") {
		return
	}
	text, err := os.ReadFile(filepath.Join("../..", file))
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

// mutate replaces a condition in the source text by an expression that selects one of its mutants. If none is selected,
// the original condition applies.
func mutate(t *testing.T, text string, place mutant) string {
	if strings.Count(text, place.is) != 1 {
		t.Fatalf("%s: %q occurs %d times, want once", place.file, place.is, strings.Count(text, place.is))
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

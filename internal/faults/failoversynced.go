package faults

// failoverSynced is failover to a replica that has all that was acknowledged: what is left of its harm when
// replication is not behind.
func failoverSynced() Fault {
	f := failover()
	f.Name = "failover-synced"
	f.On = func(string) string { return "two-replicas" }
	f.Doc = "the primary dies while a client holds, and a replica that has heard of everything takes over"
	f.Shape = nil
	f.Plan = func(s Scene) Plan {
		return Plan{Gates: inTurn(s, warmUp), Quick: warmUp, Steps: []Step{
			{When: Trigger{At: granted(victim, warmUp), Later: s.TTL / 8}, Do: Action{Verb: Failover, Nodes: []int{1}}}}}
	}
	return f
}

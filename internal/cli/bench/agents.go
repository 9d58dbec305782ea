package bench

import (
	"context"

	"lockbench/internal/cli/console"
	"lockbench/internal/measure/spread"
)

// refuse returns an error for flags of agents that do not go together.
func (f *flags) refuse() error {
	return console.Refuse(hint, append(f.fleet.Refusals(f.out),
		console.Refusal{If: f.agents < 0 || f.agents > 1000, What: "--agents: want 1 to 1000"},
		console.Refusal{If: f.agents > 0 && !f.fleet.Shared(), What: "--agents: no agent can join", Hint: "add --listen nats://127.0.0.1:4222"},
		console.Refusal{If: f.agents == 0 && f.fleet.Shared(), What: "--listen and --nats are for agents", Hint: "add --agents 2"},
		console.Refusal{If: f.agents > 0 && !f.servers.Remote.Named(), What: "agents put load only on servers that you name",
			Hint: "add --redis redis://127.0.0.1:6379, here and to each lockbench agent"})...)
}

// crew opens the queue that agents join, and returns a function that closes it. Without --agents it does nothing.
func (b *benching) crew(ctx context.Context) (end func() error, err error) {
	if b.agents == 0 {
		return func() error { return nil }, nil
	}
	c, err := b.fleet.Open(ctx, b.bench.Dir, "", 0, nil, b.show.Print)
	if err != nil {
		return nil, err
	}
	b.bench.Crew = &spread.Crew{Fleet: c, Size: b.agents, Note: b.show.Print}
	for _, t := range b.servers.Remote.Targets {
		b.bench.Crew.Servers = append(b.bench.Crew.Servers, t.String())
	}
	return func() error { return c.Close(true) }, nil
}

// What the two ways to use redlock 5 have in common.
import { Redis } from "ioredis";
import { ResourceLockedError } from "redlock";

/** Connects to the servers without resending commands: the second acquire would be refused because of the first. */
export function connect(nodes, ttl) {
  const options = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: ttl / 2 };
  return nodes.map((url) => new Redis(url, options).on("error", () => {})); // each failed command also reports its error
}

/** Returns refusal if every vote against was an explicit refusal. Otherwise the operation may have taken effect. */
export async function meaning(error, refusal) {
  const votes = await Promise.all(error.attempts ?? []);
  const refused = votes.length > 0 && votes.every((v) => [...v.votesAgainst.values()].every((e) => e instanceof ResourceLockedError));
  return refused ? refusal : error;
}

/** Returns the duration that redlock promises for a lease, with its default driftFactor. */
export const validity = (ttl) => ttl - Math.round(0.01 * ttl) - 2;

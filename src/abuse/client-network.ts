const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * The network that a client's address stands for: an IPv4 address for itself, an IPv6 address for
 * its first 64 bits, because one subscriber has all of those and changes the others by itself.
 */
export function clientNetwork(address: string): string {
  const [bare = ""] = address.toLowerCase().split("%");
  const mapped = /^(?:0{0,4}:){2,5}ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  if (!bare.includes(":")) return bare;
  const [head = "", tail] = bare.split("::");
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const zeros = Math.max(0, GROUPS - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}

/* The last 32 bits may be written as an IPv4 address: they are two groups, whatever they say. */
function groupsOf(part: string): string[] {
  if (part === "") return [];
  return part
    .split(":")
    .flatMap((group) => (group.includes(".") ? ["0", "0"] : group.replace(/^0+(?=.)/, "")));
}

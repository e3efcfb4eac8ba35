/** A command's message without the addresses it names: a saved run does not depend on a site. */
export function withoutAddresses(text: string): string {
  return text
    .replaceAll(/\bhttps?:\/\/\S*[^\s.,:;)]/g, "(an address)")
    .replaceAll(/\bgetaddrinfo (\w+) \S+/g, "getaddrinfo $1");
}

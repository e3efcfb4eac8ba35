/** Removes addresses from a command's message, so that saved results do not name hosts. */
export function withoutAddresses(text: string): string {
  return text
    .replaceAll(/\bhttps?:\/\/\S*[^\s.,:;)]/g, "(an address)")
    .replaceAll(/\bgetaddrinfo (\w+) \S+/g, "getaddrinfo $1");
}

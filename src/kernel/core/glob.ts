/**
 * True if `glob` matches the whole text: `*` matches any number of characters, `?` matches one. The
 * time is at most proportional to the product of both lengths.
 */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let place = 0;
  let starAt = -1;
  let starIn = 0;
  while (place < text.length) {
    if (glob[at] === "*") {
      starAt = at++;
      starIn = place;
    } else if (at < glob.length && (glob[at] === "?" || glob[at] === text[place])) {
      at += 1;
      place += 1;
    } else if (starAt >= 0) {
      at = starAt + 1;
      place = ++starIn;
    } else return false;
  }
  while (glob[at] === "*") at += 1;
  return at === glob.length;
}

/** A value that is made of a text, and made again when the text has changed. Makes it once already. */
export function memoizeByText<T>(text: () => string, make: (text: string) => T): () => T {
  let before = text();
  let made = make(before);
  return () => {
    const now = text();
    if (now !== before) made = make(now);
    before = now;
    return made;
  };
}

/*
 * Runs before every test file. If the package `undici` is loaded before the platform's `fetch`, it
 * makes its own dispatcher the global one, which refuses what older clients send. This line loads
 * the platform's `fetch` first, whichever file a worker runs first.
 */
void globalThis.Headers;

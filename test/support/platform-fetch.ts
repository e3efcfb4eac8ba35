/*
 * Runs before every test file. The package `undici` makes its own dispatcher the one of the
 * platform's `fetch` when it is loaded first, and refuses what older clients send through it.
 * Whichever file a worker happens to run first, the platform's own is there before.
 */
void globalThis.Headers;

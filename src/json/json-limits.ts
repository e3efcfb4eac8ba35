/** Values of one body, keys included, that are kept for reading: bounds the memory of a scan. */
export const JSON_VALUES_MAX = 250_000;

/** Unknown names in one object whose names are checked: each costs far more than other keys. */
export const UNKNOWN_FIELDS_MAX = 1_000;

/**
 * Containers nested deeper than this are checked but kept as one value: nothing the gateway reads
 * is deeper (an image inside a document inside a tool result is at 10).
 */
export const READ_DEPTH_MAX = 10;

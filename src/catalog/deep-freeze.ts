/**
 * Freezes a value and everything in it. Maps and sets cannot be frozen: their types are read-only,
 * and the values of a map are frozen here.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) for (const member of value.values()) deepFreeze(member);
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

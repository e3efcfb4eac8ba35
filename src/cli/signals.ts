export type SignalListeners = Partial<Record<"SIGTERM" | "SIGINT" | "SIGHUP", () => void>>;

/** Listens to signals of this process until the returned function is called. */
export function onSignals(listeners: SignalListeners): () => void {
  const entries = Object.entries(listeners);
  for (const [signal, listener] of entries) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of entries) process.off(signal, listener);
  };
}

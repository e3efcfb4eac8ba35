/** The guides in the order in which a newcomer needs them, as file name and title. */
export const GUIDES: readonly (readonly [name: string, title: string])[] = [
  ["quick-start", "Quick start"],
  ["streaming", "Streaming"],
  ["tools", "Tools"],
  ["images", "Images"],
  ["videos", "Videos"],
  ["decisions", "Decisions"],
  ["caching", "Prompt caching"],
  ["routing", "Routing"],
  ["limits", "Limits"],
  ["errors", "Errors"],
  ["retries", "Retries"],
  ["webhooks", "Webhooks"],
  ["coding-agents", "Coding agents"],
  ["migrating", "Migrating"],
];

import { SETTINGS_REQUESTS_PER_MINUTE, Turns, type TurnsMax } from "../../kernel/index.ts";
import { ConsoleRefusal, rateLimited } from "./console-refusal.ts";

const RETRY_AFTER_SECONDS = 5;

/**
 * Limits how many tasks of one organization or account run at a time, so that none occupies the
 * database alone. Further tasks wait in order of arrival, up to a limit.
 */
export class ConcurrencyGate {
  readonly #full: ConsoleRefusal;
  readonly #turns: Turns;

  constructor(max: TurnsMax) {
    this.#full = rateLimited(
      `you or your organization already have ${max.running} of these requests running; wait for one to finish, then try again`,
      RETRY_AFTER_SECONDS,
    );
    this.#turns = new Turns(max);
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T | ConsoleRefusal> {
    const end = await this.take(owner);
    if (end instanceof ConsoleRefusal) return end;
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Returns the function that ends the turn, which may be called repeatedly. */
  async take(owner: string): Promise<(() => void) | ConsoleRefusal> {
    const end = this.#turns.take(owner);
    return (end instanceof Promise ? await end : end) ?? this.#full;
  }
}

export type ReportGates = ReturnType<typeof openReportGates>;

export function openReportGates() {
  return {
    /** For short reads of an account: a page makes many at once, and some do so in many tabs. */
    rest: new ConcurrencyGate({ running: 2, waiting: 100 }),
    /** For changes of settings: each keeps a connection while it waits for its organization's row. */
    settings: new ConcurrencyGate({ running: 2, waiting: SETTINGS_REQUESTS_PER_MINUTE }),
    /**
     * For changes that send a mail or resolve a name, so that a slow server delays no other change.
     * More run than the two that may resolve a name: the rest of these are refused at once.
     */
    mails: new ConcurrencyGate({ running: 4, waiting: SETTINGS_REQUESTS_PER_MINUTE }),
    reads: new ConcurrencyGate({ running: 2, waiting: 8 }),
    /** For file downloads: each keeps its turn as long as the client takes to read the file. */
    files: new ConcurrencyGate({ running: 2, waiting: 0 }),
    checks: new ConcurrencyGate({ running: 1, waiting: 2 }),
    payments: new ConcurrencyGate({ running: 2, waiting: 8 }),
  };
}

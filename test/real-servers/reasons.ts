import type { ConformanceReport } from "../../src/listing-tools/index.ts";

/** The reason for a finding on a real server, written after reading the server's raw answer. */
interface KnownReason {
  readonly listings: RegExp;
  readonly check: ConformanceReport["models"][number]["checks"][number]["id"];
  readonly message: RegExp;
  /** Begins with what is to blame: the server, its setting or the model. */
  readonly sentence: string;
}

const REASONS: readonly KnownReason[] = [
  {
    listings: /^litellm-/,
    check: "C1",
    message: /^a wrong key gets 400 /,
    sentence:
      "its setting: Without a database the proxy searches one for every key that is not its master key, and answers `No connected db.` with 400.",
  },
  {
    listings: /^llama/,
    check: "C3",
    message: /^the stream ends without usage$/,
    sentence:
      "the server: It ignores `stream_options.include_usage`, so no chunk has usage, and a gateway cannot bill a stream by it.",
  },
  {
    listings: /^litellm-mock-messages$/,
    check: "C3",
    message: /^content-type is application\/json, /,
    sentence:
      "the server: With `mock_response` its messages endpoint ignores `stream: true` and sends the whole answer as JSON.",
  },
  {
    listings: /^llama/,
    check: "C4",
    message: /^the tokens billed for a known text /,
    sentence:
      "the model: Its vocabulary was learned from one manual and splits ordinary English into 40 % more tokens than other models do; the counts themselves are right.",
  },
  {
    listings: /^llama/,
    check: "C4",
    message: /^the same text has more tokens in the prompt than in the answer, or fewer$/,
    sentence:
      "the model: Tokens drawn at random are not how its tokenizer splits the same text, so what it says has other counts when it is sent back.",
  },
  {
    listings: /^litellm-mock-chat$/,
    check: "C4",
    message: /^the same prompt is billed differently when it is streamed$/,
    sentence:
      "the server: A mock answer bills a fixed 10 and 20 tokens, and only its stream counts what was sent and said.",
  },
  {
    listings: /^litellm-mock-messages$/,
    check: "C4",
    message: /^the tokens billed for a known text /,
    sentence:
      "the server: A mock answer bills a fixed 2095 and 503 tokens, however long the prompt is.",
  },
  {
    listings: /^litellm-relay-/,
    check: "C4",
    message: /^the same prompt is billed differently when it is streamed$/,
    sentence:
      "the server: Its upstream reports no usage in streams, so the relay counts them with a tokenizer of its own, which is not the model's.",
  },
  {
    listings: /^aimock-messages$/,
    check: "C4",
    message: /^the tokens billed for a known text /,
    sentence:
      "the server: Its messages endpoint reports 0 input and 0 output tokens unless a fixture names them; its chat completions estimate them.",
  },
  {
    listings: /^litellm-mock-chat$/,
    check: "C6",
    message: /^the forced tool was not called$/,
    sentence: "the model: A mock answer is one fixed word, whatever `tool_choice` says.",
  },
  {
    listings: /^llama/,
    check: "C8",
    message: /^invalid JSON: answered with 500/,
    sentence:
      "the server: A body that is not valid JSON ends in `500 Internal Server Error` as plain text; and it answers for every model name, repeating that name as its own.",
  },
  {
    listings: /^litellm-mock-/,
    check: "C8",
    message: /^temperature 99: answered with 200$/,
    sentence:
      "the model: The proxy leaves the check of values to the provider behind it, and a mock answer has none.",
  },
  {
    listings: /^litellm-relay-/,
    check: "C8",
    message: /^temperature 99: answered with 200$/,
    sentence:
      "the server: Neither the proxy nor its upstream checks the temperature; the listing's range of 0 to 2 is not enforced.",
  },
  {
    listings: /^aimock-/,
    check: "C8",
    message: /^temperature 99: answered with 200$/,
    sentence: "the server: It does not check the values of sampling parameters.",
  },
  {
    listings: /^litellm-mock-/,
    check: "C9",
    message: /^(20|503) output tokens are billed where 1 were allowed$/,
    sentence: "the server: The fixed usage of a mock answer does not depend on `max_tokens`.",
  },
  {
    listings: /^aimock-chat$/,
    check: "C9",
    message: /^2 output tokens are billed where 1 were allowed$/,
    sentence:
      "the server: It sends the fixture's whole answer and bills it, whatever `max_tokens` says.",
  },
  {
    listings: /^(llama|litellm-relay-)/,
    check: "C10",
    message: /at its start is not known$/,
    sentence: "the model: A model of random weights repeats no fact.",
  },
  {
    listings: /^litellm-mock-/,
    check: "C10",
    message: /at its start is not known$/,
    sentence: "the model: A mock answer is one fixed word.",
  },
  {
    listings: /^llama$/,
    check: "C12",
    message: /answers broke: /,
    sentence:
      "its setting: A new request interrupts the one under way, which then ends in the middle or only sends pings; `--interrupt_requests false` makes it wait, as the next listing shows.",
  },
];

export function findingsOf(
  listingId: string,
  report: ConformanceReport,
): readonly { readonly text: string; readonly isExplained: boolean }[] {
  return report.models
    .flatMap(({ checks }) => checks)
    .filter(({ status }) => status !== "pass" && status !== "skip")
    .map(({ id, message }) => {
      const reason = REASONS.find(
        ({ check, listings, message: known }) =>
          check === id && listings.test(listingId) && known.test(message),
      );
      const why = reason?.sentence ?? "not explained yet";
      return {
        text: `${listingId}: ${id}: ${message} (${why})`,
        isExplained: reason !== undefined,
      };
    });
}

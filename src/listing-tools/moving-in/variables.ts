/** The name in `os.environ/NAME`: how a configuration of LiteLLM refers to a variable. */
export function variableOf(text: string): string | undefined {
  return /^os\.environ\/(.*)$/s.exec(text)?.[1];
}

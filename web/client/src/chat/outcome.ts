import { asError } from '../errors.js';
import type { ToolCallInfo } from './types.js';

/** What a tool of the page gives, or what it fails with. */
export async function settle(execute: (input: never, call: ToolCallInfo) => unknown, input: unknown, call: ToolCallInfo): Promise<[unknown, string?]> {
  try {
    return [await execute(input as never, call)];
  } catch (error) {
    return [undefined, String((error as Error | undefined)?.message ?? error)];
  }
}

/** Takes an error of this code for nothing. */
export const noneIf = (code: string) => (error: unknown): undefined => {
  if (asError(error).code !== code) throw error;
};

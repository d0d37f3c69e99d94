import { asError } from '../errors.js';

/** Takes an error with such a code for nothing. */
export const noneIf = (codes: RegExp) => (error: unknown): undefined => {
  if (!codes.test(asError(error).code)) throw error;
};

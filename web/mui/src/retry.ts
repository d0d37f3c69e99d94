/** The delay before a second attempt, in milliseconds; it doubles up to the limit. The first attempt has none. */
const DELAY = 250;
const MAX_DELAY = 4000;

/** The server refused, or the run failed: the same request would fail again. */
export class RefusedError extends Error {}

/** The connection is gone, and the run may continue without it. */
export class LostError extends Error {}

/** Makes a request until a server responds that is not in trouble. */
export async function retry(request: () => Promise<Response>, retries: number, signal?: AbortSignal): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    let failure: Error | undefined;
    try {
      const response = await request();
      if (response.ok) return response;
      failure = await refusal(response);
      if (response.status < 500) throw failure;
    } catch (error) {
      if (error === failure || signal?.aborted) throw error;
      failure ??= new Error('cannot reach the server: check the connection and try again');
    }
    if (attempt >= retries) throw failure;
    await delay(attempt + 1);
  }
}

/** What the server reports about a request that failed. */
export async function refusal(response: Response): Promise<RefusedError> {
  const text = await response.text();
  let message = `the server responded with ${response.status}`;
  try {
    message = (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    // The page of a proxy is of no use to people.
  }
  return new RefusedError(message);
}

/** Waits before the request that follows so many failures. */
export function delay(failures: number): Promise<void> {
  const milliseconds = failures === 1 ? 0 : Math.min(DELAY * 2 ** (failures - 2), MAX_DELAY);
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

import { useEffect, useState } from 'preact/hooks';
import { openResponse } from '../api';

/** The process of the server, as far as it shows itself: a server with keys does not. */
export interface ServerProcess {
  pid: number;
  startedAt: number;
  canRestart: boolean;
}

/** The process, and how often it was seen to be another one. */
export function useServerProcess(): { process: ServerProcess | undefined; restarts: number; isAway: boolean } {
  const [state, setState] = useState<{ process: ServerProcess | undefined; restarts: number; isAway: boolean }>({ process: undefined, restarts: 0, isAway: false });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isCurrent = true;
    const look = async () => {
      const now = await openResponse('/studio/process', { signal: AbortSignal.timeout(3000) }).then(
        (response) => response.json() as Promise<ServerProcess>,
        (error: { code?: string }) => (error.code === 'network' || error.code === 'timeout' ? 'away' : undefined),
      );
      if (!isCurrent || now === undefined) return;
      setState(({ process, restarts }) =>
        now === 'away' ? { process, restarts, isAway: true } : { process: now, restarts: restarts + (process && process.startedAt !== now.startedAt ? 1 : 0), isAway: false },
      );
      timer = setTimeout(() => void look(), 700);
    };
    void look();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, []);
  return state;
}

/** Replaces the process of a demo server at once, as `kill -9` and a new start would. */
export const restartServer = (): Promise<unknown> => openResponse('/studio/restart', { method: 'POST' });

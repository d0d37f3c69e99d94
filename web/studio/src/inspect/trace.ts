import { useEffect, useRef, useState } from 'preact/hooks';
import { readTrace, serverNow, type TraceStep } from '../api';

/** How often the steps of an active run are read, in milliseconds. */
const PAUSE = 1000;

/** The steps of a run, and while it is active those that were added. `count`: how many records there are. */
export function useTrace(run: string, count: number, isComplete: boolean): readonly TraceStep[] {
  const [steps, setSteps] = useState<readonly TraceStep[]>([]);
  const last = useRef(0);
  useEffect(() => {
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout>;
    const read = async () => {
      const after = last.current;
      try {
        const more = await readTrace(run, after);
        if (!isCurrent) return;
        last.current = more.last;
        if (more.steps.length > 0 || after === 0) setSteps((known) => (after === 0 ? more.steps : known.concat(more.steps)));
      } catch {
        // A server that was killed may have lost the last records: then it is read anew.
        last.current = 0;
      }
      if (isCurrent && !isComplete) timer = setTimeout(read, PAUSE);
    };
    // The records come first.
    timer = setTimeout(read, isComplete ? 0 : PAUSE);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [run, isComplete, isComplete && count]);
  return steps;
}

/** The present time of the server, every second while something is open. */
export function useNow(isOpen: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!isOpen) return;
    const tick = () => setNow(serverNow());
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [isOpen]);
  return now;
}

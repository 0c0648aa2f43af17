/** What is read in the background. */

import { useEffect, useState } from "preact/hooks";
import { say } from "./status";

interface Read<T> {
  value: T | null;
  /** Whether what is read is still of another key: then the value is the one before. */
  isReading: boolean;
}

/** Reads anew whenever the key changes; of what cannot be read the page says so. */
export function useRead<T>(key: string, what: string, read: () => Promise<T>): Read<T> {
  const [last, setLast] = useState<{ key: string; value: T | null } | null>(null);
  useEffect(() => {
    let wanted = true;
    read().then(
      (value) => wanted && setLast({ key, value }),
      (error: Error) => {
        if (wanted) setLast({ key, value: null });
        say(`${what} cannot be read: ${error.message}`);
      },
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  return { value: last?.value ?? null, isReading: last?.key !== key };
}

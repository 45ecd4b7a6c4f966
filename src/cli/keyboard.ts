// What a person types, as the input of prompts: the terminal's keys through a stream of our own. A terminal that hangs up (its
// window was closed, the connection broke) makes reading it and switching its mode fail, which would throw out of the
// prompt's inside and end the process before it has stopped what it started; here it is told by one call instead.
import { PassThrough } from 'node:stream';

export interface Keyboard {
  /** For a prompt: a terminal whose mode can always be switched. */
  input: PassThrough & { isTTY: true; setRawMode(raw: boolean): unknown };
  close(): void;
}

/** Listens at stdin, which must be a terminal. @param gone called when the terminal is no more, perhaps more than once. */
export function openKeyboard(gone: () => void): Keyboard {
  const { stdin } = process;
  const input = Object.assign(new PassThrough(), {
    isTTY: true as const,
    setRawMode: (raw: boolean): void => {
      try {
        stdin.setRawMode(raw);
      } catch {
        gone();
      }
    },
  });
  const hear = (bytes: Buffer): void => void input.write(bytes);
  // It may still fail when nobody listens any more.
  stdin.on('error', gone);
  stdin.on('end', gone);
  stdin.on('data', hear);
  return {
    input,
    close: () => {
      stdin.off('data', hear);
      stdin.off('end', gone);
      stdin.pause();
    },
  };
}

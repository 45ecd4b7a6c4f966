// Other processes for the contract suites: each opens the same data, does one call of a port at a time, and may be killed.
// Owns the processes that it starts: `kill` ends one for good with SIGKILL, `end` lets it close its store first. One that a
// failed test left alone holds nobody up and ends with this process.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { StorePorts, StoresUnderTest } from './suite';

type Ports = Omit<StorePorts, 'close'>;
/** A call of a port, as it crosses to the other process. */
export interface PeerCall { id: number; port: keyof Ports; method: string; values: unknown[] }
export type PeerReply = { id: number; answer: unknown } | { id: number; failed: string } | { ready: true } | { told: unknown };
/** A program of the peer that never ends by itself: batch after batch of `count` events, or artifact after artifact of `count` bytes. */
export type PeerStream = { stream: 'append'; runId: string; count: number } | { stream: 'write'; count: number };

const COMPILED = path.join(__dirname, 'peer.process.js');
const SOURCE = path.join(__dirname, 'peer.process.ts');

/** Numbers of what is awaited without a call: that the peer is ready, and the first step of its stream. */
const READY = 0;
const STREAM = -1;

export class Peer {
  private readonly waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  /** What a stream of this peer has acknowledged, oldest first. */
  readonly told: unknown[] = [];
  private next = 1;
  private readonly exited: Promise<void>;

  private constructor(private readonly child: ChildProcess) {
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    child.on('message', (reply: PeerReply) => this.hear(reply));
    void this.exited.then(() => {
      for (const { reject } of this.waiting.values()) reject(new Error('The peer ended before it answered.'));
    });
  }

  static async start({ elsewhere }: Pick<StoresUnderTest, 'elsewhere'>): Promise<Peer> {
    const opened = [elsewhere.module, elsewhere.argument];
    const child = existsSync(COMPILED)
      ? fork(COMPILED, opened, { serialization: 'advanced', execArgv: [] })
      : fork(fromSource(), [SOURCE, ...opened], { serialization: 'advanced', execArgv: [] });
    const peer = new Peer(child);
    await peer.answered(READY);
    return peer;
  }

  /** Calls one method of a port over there. */
  call<Name extends keyof Ports, Method extends keyof Ports[Name] & string>(
    port: Name, method: Method, ...values: Ports[Name][Method] extends (...args: infer Args) => unknown ? Args : never
  ): Promise<Ports[Name][Method] extends (...args: never[]) => infer Result ? Awaited<Result> : never> {
    const id = this.next++;
    this.child.send({ id, port, method, values } satisfies PeerCall);
    return this.answered(id) as Promise<never>;
  }

  /** Starts a program that tells each step that was acknowledged to it; answers after the first. */
  async stream(what: PeerStream): Promise<void> {
    this.child.send(what);
    await this.answered(STREAM);
  }

  async kill(): Promise<void> {
    this.child.ref();
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async end(): Promise<void> {
    this.child.ref();
    this.child.disconnect();
    await this.exited;
  }

  /** Waits for an answer; only while one is awaited does the peer keep this process alive. */
  private async answered(id: number): Promise<unknown> {
    this.child.ref();
    this.child.channel?.ref();
    try {
      return await new Promise<unknown>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    } finally {
      if (this.waiting.size === 0) {
        this.child.unref();
        this.child.channel?.unref();
      }
    }
  }

  private hear(reply: PeerReply): void {
    if ('told' in reply) this.told.push(reply.told);
    const id = 'id' in reply ? reply.id : 'told' in reply ? STREAM : READY;
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if ('failed' in reply) waiting?.reject(new Error(reply.failed));
    else waiting?.resolve('answer' in reply ? reply.answer : undefined);
  }
}

/** The program that runs TypeScript sources, for a checkout that has not been compiled. */
function fromSource(): string {
  return path.join(path.dirname(createRequire(SOURCE).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');
}

/** Starts some peers, and ends those that still live when the work is done. */
export async function withPeers<T>(under: StoresUnderTest, count: number, work: (peers: Peer[]) => Promise<T>): Promise<T> {
  const peers = await Promise.all(Array.from({ length: count }, () => Peer.start(under)));
  try {
    return await work(peers);
  } finally {
    await Promise.all(peers.map((peer) => peer.kill()));
  }
}

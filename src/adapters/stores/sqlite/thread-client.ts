// The caller's side of the store thread: starts it, sends requests, matches answers, ends it.
// Never touches SQLite itself. The thread keeps the process alive only while a request is open.
// Runs from compiled files and from TypeScript sources alike; the latter go through jiti, as configuration files do.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { StoreError } from '../store-error';
import type { StoreErrorCode } from '../store-error';
import type { Arguments, Asker, OperationName, Result } from '../sql/operations';
import type { Reply, Request, ThreadOptions } from './wire';

const COMPILED = path.join(__dirname, 'store.thread.js');
const SOURCE = path.join(__dirname, 'store.thread.ts');
const FROM_SOURCE = `
  const from = require('node:module').createRequire(${JSON.stringify(SOURCE)});
  from('jiti').createJiti(${JSON.stringify(SOURCE)}, { fsCache: true })(${JSON.stringify(SOURCE)});
`;

interface Waiting { resolve: (answer: never) => void; reject: (error: StoreError) => void }

export class StoreThread implements Asker {
  private readonly waiting = new Map<number, Waiting>();
  private readonly exited: Promise<void>;
  private next = 1;
  private ended: StoreError | null = null;

  private constructor(private readonly worker: Worker, private readonly file: string) {
    this.exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (reply: Reply) => this.hear(reply));
    worker.on('error', (error) => this.end(new StoreError('defect', `The store thread of ${file} failed: ${error.message}`)));
    worker.on('exit', () => this.end(new StoreError('closed', `The store ${file} is closed.`)));
  }

  /** Opens the database in a thread of its own. Throws StoreError. */
  static async start(options: ThreadOptions): Promise<StoreThread> {
    const worker = existsSync(COMPILED)
      ? new Worker(COMPILED, { workerData: options })
      : new Worker(FROM_SOURCE, { workerData: options, eval: true });
    const thread = new StoreThread(worker, options.file);
    await new Promise<void>((resolve, reject) => thread.waiting.set(0, { resolve, reject }));
    worker.unref();
    return thread;
  }

  /** Asks for one operation. Rejects with StoreError; a refusal is an answer. */
  ask<Name extends OperationName>(name: Name, ...values: Arguments<Name>): Promise<Result<Name>> {
    if (this.ended !== null) return Promise.reject(this.ended);
    const id = this.next++;
    return new Promise<Result<Name>>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.ref();
      this.send({ id, name, values });
    });
  }

  /** Ends the thread after everything that was asked before. */
  async close(): Promise<void> {
    if (this.ended === null) {
      this.worker.ref();
      this.send({ close: true });
      this.ended = new StoreError('closed', `The store ${this.file} is closed.`);
    }
    await this.exited;
  }

  private send(request: Request): void {
    this.worker.postMessage(request);
  }

  private hear(reply: Reply): void {
    const id = 'id' in reply ? reply.id : 0;
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    const error = 'error' in reply ? reply.error : 'refused' in reply ? reply.refused : null;
    if (error !== null) waiting?.reject(new StoreError(error.code as StoreErrorCode, error.message));
    else waiting?.resolve(('answer' in reply && reply.answer !== undefined ? JSON.parse(reply.answer) : undefined) as never);
    if (this.waiting.size === 0 && this.ended === null) this.worker.unref();
  }

  private end(error: StoreError): void {
    this.ended ??= error;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

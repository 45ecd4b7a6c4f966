// A hand looks at the token of a message, since cryptography is not to be had here. Handlers run in the root scope, so this is kept
// from a native cancel; it waits out whatever keeps a hand from answering. Decides nothing.
import { CancellationScope, log } from '@temporalio/workflow';
import type { Message } from '../core/message';
import type { Checked } from '../core/proof';
import { useOf } from '../core/rules/authority';
import { patient, quick } from './hands';

/** What the token that came with a message says. */
export const checkedToken = ({ body }: Message, token: string): Promise<Checked> =>
  CancellationScope.nonCancellable(() => verified({ token, use: useOf(body)?.use ?? 'approve' }));

async function verified(request: Parameters<typeof quick.verify>[0]): Promise<Checked> {
  try {
    return await quick.verify(request);
  } catch (error) {
    log.warn('a token could not be looked at in time; asking again with patience', { error: String(error) });
    return patient.verify(request);
  }
}

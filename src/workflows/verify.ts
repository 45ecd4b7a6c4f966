// A message with a token on its way to the law: a hand looks at the token, and the command carries what it found instead of the
// token. Handlers run in the root scope, so this is kept from a native cancel; it waits out whatever keeps a hand from answering.
// Decides nothing.
import { CancellationScope, log } from '@temporalio/workflow';
import type { Command } from '../core/commands';
import type { Message } from '../core/message';
import type { Checked } from '../core/proof';
import { useOf } from '../core/rules/authority';
import { patient, quick } from './hands';

/** The command for a message whose token is given apart. */
export function checkedMessage(message: Message, token: string): Promise<Extract<Command, { type: 'Message' }>> {
  const request = { token, use: useOf(message.body)?.use ?? 'approve' };
  return CancellationScope.nonCancellable(async () => ({ type: 'Message', message, checked: await verified(request) }));
}

async function verified(request: Parameters<typeof quick.verify>[0]): Promise<Checked> {
  try {
    return await quick.verify(request);
  } catch (error) {
    log.warn('a token could not be looked at in time; asking again with patience', { error: String(error) });
    return patient.verify(request);
  }
}

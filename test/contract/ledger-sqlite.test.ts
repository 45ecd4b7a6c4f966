// The embedded effect ledger keeps the contract of its port.
import { ledgerContract } from '../../src/testing/contracts/ledger';
import { embedded } from './store-open';

ledgerContract('embedded ledger', embedded);

// The embedded journal keeps the contract of its port.
import { journalContract } from '../../src/testing/contracts/journal';
import { embedded } from './store-open';

journalContract('embedded journal', embedded);

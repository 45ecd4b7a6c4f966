// The folder of artifacts keeps the contract of its port.
import { artifactsContract } from '../../src/testing/contracts/artifacts';
import { embedded } from './store-open';

artifactsContract('artifacts in a folder', embedded);

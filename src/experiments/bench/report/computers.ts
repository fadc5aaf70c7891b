import {BACKEND_NAMES} from '../../../backends/index.js'
import {PEER_NAMES} from '../fields/peers.js'

/** All that can compute a row: backends in the order of preference, then peers. */
export const COMPUTERS: readonly string[] = [...BACKEND_NAMES, ...PEER_NAMES]

/** What else than this package a benchmark times: other implementations of its methods, where they are installed. */
import type {MethodSpec} from '../../axes.js'
import {type Heads, keyHeads} from './grouped.js'

/** Peers, as `--peers` takes them. */
export const PEER_NAMES = ['torch'] as const
export type PeerName = (typeof PEER_NAMES)[number]

/** Methods that `python/rfa_peers.py` has. */
const METHODS: Readonly<Record<PeerName, readonly string[]>> = {
  torch: ['softmax', 'softmax-online', 'favor-pos', 'rfa', 'elu'],
}

/** The stated reason why a peer does not time a cell, if it does not. */
export function whyNoPeer(
  peer: PeerName,
  cell: Omit<MethodSpec, 'plugin'> & Heads & {redraw: string},
): string | undefined {
  const {method, preset, options, redraw} = cell
  const methods = METHODS[peer]
  if (!methods.includes(method)) return `${peer} is timed with ${methods.join(', ')} only`
  if (preset !== 'exact' || Object.keys(options).length > 0) {
    return `${peer} has it with its default options only`
  }
  if (keyHeads(cell) !== cell.heads) {
    return `${peer} is timed with as many heads of keys and values as of queries only`
  }
  return redraw === 'fixed' ? undefined : `${peer} is timed with fixed projections only`
}

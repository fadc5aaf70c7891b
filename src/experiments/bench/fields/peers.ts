/** What else than this package a benchmark times: other implementations of its methods, where they are installed. */
import type {PythonFile} from '../../../attention/index.js'
import {BACKEND_NAMES} from '../../../backends/index.js'
import type {MethodSpec} from '../../axes.js'
import {type Heads, keyHeads} from './grouped.js'

/** Peers, as `--peers` takes them. `bench/peers` of the source has others. */
export const PEER_NAMES = ['torch'] as const

/** All that can compute a row: backends in the order of preference, then peers. */
export const COMPUTERS: readonly string[] = [...BACKEND_NAMES, ...PEER_NAMES]

/** Methods of those that `--peers` takes; others say theirs. */
const METHODS: Readonly<Record<string, readonly string[] | undefined>> = {
  torch: ['softmax', 'softmax-online', 'favor-pos', 'rfa', 'elu'],
}

/** The name of a peer, and which of its forms, if a cell names one behind it. */
export function peerParts(peer: string): {name: string; form: string | undefined} {
  const [name = '', ...form] = peer.split(' ')
  return {name, form: form.join(' ') || undefined}
}

/**
 * The stated reason why a peer does not time a cell, if it does not. A form that is named is one that the peer has.
 *
 * @param file - the file of Python that has the method, which PyTorch runs
 */
export function whyNoPeer(
  peer: string,
  cell: Omit<MethodSpec, 'plugin'> & Heads & {redraw: string},
  file?: PythonFile,
): string | undefined {
  const {method, preset, options, redraw, tuned} = cell
  const methods = METHODS[peer]
  const ofFile = file !== undefined && peer === 'torch'
  if (methods && !methods.includes(method) && !ofFile) {
    return `${peer} is timed with ${methods.join(', ')} only, and with methods in Python`
  }
  const taken = ofFile ? file.options : []
  const others = Object.keys(options).filter(name => !taken.includes(name))
  if ((methods && preset !== 'exact') || others.length > 0) {
    return `${peer} has it with its default options only`
  }
  if (tuned) return `${peer} is timed without learned parameters only`
  if (keyHeads(cell) !== cell.heads) {
    return `${peer} is timed with the same number of heads of keys, values and queries only`
  }
  return redraw === 'fixed' ? undefined : `${peer} is timed with fixed projections only`
}

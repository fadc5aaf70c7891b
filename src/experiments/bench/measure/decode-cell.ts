/** One decode: a method from the first token to the last, in one of the processes of its cell. */
import {recordOperations} from '../../../attention/index.js'
import {decoderFor, recurrentOptions, token} from '../../../check/calls/decode.js'
import type {AttentionArray} from '../../../inputs/attention-input.js'
import {repeatHeads} from '../../../inputs/grouped-heads.js'
import {normals, randomStream} from '../../../random/index.js'
import {tf} from '../../../tf.js'
import {attendOptions} from '../../axes.js'
import {keyHeads} from '../fields/grouped.js'
import {markedTokens} from '../fields/token-marks.js'
import type {BenchCell} from '../schema.js'
import {type Decoding, statesOf, stepper, type Token, timeDecoding} from './decoding.js'
import {groupedDecoder} from './grouped-decoder.js'
import type {Others, TimedCell} from './timing.js'

/** Decodes that are longer than this, in ns, are warm after their first tokens. */
const WARMED_NS = 50e6

/** Tokens that stand for all. */
export const DECODE_TOKENS = 16

/**
 * Times the recurrent form of a cell's method. Caches have room for all tokens from the start: growing is not
 * timed, since it is not needed if the length is known.
 *
 * @param projection - `[H, M, D]`, drawn outside the timed region
 */
export async function timeDecodeCell(
  cell: BenchCell,
  projection: tf.Tensor | undefined,
  others: Others,
): Promise<TimedCell> {
  const {method, batch, heads, head_dim, value_dim, seq_len, lengths = [seq_len]} = cell
  const given = decodeTokens(cell)
  // statistics of all heads
  const all = (array: AttentionArray) => repeatHeads(array, heads, method)
  const inputs = {query: given.query, key: all(given.key), value: all(given.value)}
  const options = {
    ...recurrentOptions(method, seq_len),
    ...attendOptions(cell),
    ...(projection && {projection}),
    ...{batch, heads, headDim: head_dim, valueDim: value_dim, capacity: seq_len},
  }
  const tokens = tensorsOf(given)
  const make = () => stepper(groupedDecoder(decoderFor(options, inputs), cell), tokens)
  const timed = await timeSteps({make, marks: markedTokens(lengths)}, cell, others)
  tf.dispose(tokens.flat())
  return timed
}

/** Times whole decodes, with what their states take. */
export async function timeSteps(
  decoding: Decoding,
  {timing}: Pick<BenchCell, 'timing'>,
  others: Others,
): Promise<TimedCell> {
  const {result: states, operations} = recordOperations(() => statesOf(decoding))
  const timed = await timeDecoding(decoding, states, timing, {...others, warmedNs: WARMED_NS})
  return {...timed, operations, live_bytes: states.at(-1)!}
}

type Tokens = Record<'query' | 'key' | 'value', AttentionArray>

/** Tokens N(0, 1) that stand for all, `[B, H, n, D]`, `[B, Hkv, n, D]` and `[B, Hkv, n, Dv]`. */
export function decodeTokens(cell: BenchCell): Tokens {
  const {batch, head_dim, value_dim, seed} = cell
  const draw = (name: string, heads: number, dim: number): AttentionArray => {
    const shape: AttentionArray['shape'] = [batch, heads, DECODE_TOKENS, dim]
    const length = shape.reduce((product, axis) => product * axis, 1)
    const data = Float32Array.from(normals(randomStream(seed, `bench.decode.${name}`), length))
    return {shape, data}
  }
  return {
    query: draw('query', cell.heads, head_dim),
    key: draw('key', keyHeads(cell), head_dim),
    value: draw('value', keyHeads(cell), value_dim),
  }
}

/** The same one by one, each in separate memory. */
function tensorsOf({query, key, value}: Tokens): Token[] {
  const whole = [query, key, value].map(({data, shape}) => tf.tensor4d(data, shape))
  const tokens = Array.from(
    {length: DECODE_TOKENS},
    (_, t) => whole.map(x => token(x, t)) as unknown as Token,
  )
  tf.dispose(whole)
  return tokens
}

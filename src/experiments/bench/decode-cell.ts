/** One decode: a method from the first token to the last, in a process of its own. */
import {type HostArray, recordOperations} from '../../attention/index.js'
import type {HostInputs} from '../../check/arrays.js'
import {decoderFor, recurrentOptions, token} from '../../check/decode.js'
import {normals, randomStream} from '../../random/index.js'
import {tf} from '../../tf.js'
import {attendOptions} from '../axes.js'
import {type Decoding, statesOf, type Token, timeDecoding} from './decoding.js'
import {markedTokens} from './marks.js'
import type {BenchCell} from './schema.js'
import type {Others, TimedCell} from './timing.js'

/** Decodes that are longer than this, in ns, are warm after their first tokens. */
const WARMED_NS = 50e6

/** Tokens that stand for all. */
const TOKENS = 16

/**
 * Times the recurrent form of a cell's method. Caches have room for all tokens from the start: growing is no part of what is
 * timed, as it need not be where the length is known.
 *
 * @param projection - `[H, M, D]`, drawn outside the timed region
 */
export async function timeDecodeCell(
  cell: BenchCell,
  projection: tf.Tensor | undefined,
  others: Others,
): Promise<TimedCell> {
  const {method, batch, heads, head_dim, value_dim, seq_len, lengths = [seq_len]} = cell
  const inputs = tokensOf(cell)
  const options = {
    ...recurrentOptions(method, seq_len),
    ...attendOptions(cell),
    ...(projection && {projection}),
    ...{batch, heads, headDim: head_dim, valueDim: value_dim, capacity: seq_len},
  }
  const decoding: Decoding = {
    make: () => decoderFor(options, inputs),
    tokens: tensorsOf(inputs),
    marks: markedTokens(lengths),
  }
  const {result: states, operations} = recordOperations(() => statesOf(decoding))
  const timed = await timeDecoding(decoding, states, cell.timing, {
    ...others,
    warmedNs: WARMED_NS,
  })
  return {...timed, operations, live_bytes: states.at(-1)!}
}

/** Tokens N(0, 1) `[B, H, n, D]`. */
function tokensOf({batch, heads, head_dim, value_dim, seed}: BenchCell): HostInputs {
  const draw = (name: string, dim: number): HostArray => {
    const shape = [batch, heads, TOKENS, dim] as const
    const length = shape.reduce((product, axis) => product * axis, 1)
    const data = Float32Array.from(normals(randomStream(seed, `bench.decode.${name}`), length))
    return {shape, data}
  }
  return {
    query: draw('query', head_dim),
    key: draw('key', head_dim),
    value: draw('value', value_dim),
  }
}

/** The same one by one, each in memory of its own. */
function tensorsOf({query, key, value}: HostInputs): Token[] {
  const whole = [query, key, value].map(({data, shape}) =>
    tf.tensor4d(data as Float32Array, [...shape]),
  )
  const tokens = Array.from(
    {length: TOKENS},
    (_, t) => whole.map(x => token(x, t)) as unknown as Token,
  )
  tf.dispose(whole)
  return tokens
}

/** Options of EVA, and what follows from them for a call of given length. */
import {z} from 'zod'
import {expected} from '../../../errors.js'
import {noiseScale, tokenCount as size} from '../options.js'
import {type Partition, type PartitionOptions, partition} from './partition.js'

/** Tokens per chunk of the causal form, where no size is asked for. */
const CAUSAL_CHUNK_SIZE = 16

export const evaOptions = z.object({
  window: size
    .default(32)
    .describe(
      'tokens per window (side of a square on a grid); its keys are attended to one by one',
    ),
  overlap: z
    .boolean()
    .default(false)
    .describe('windows reach half a window further on both sides; causal: a whole one back'),
  chunkSize: size
    .nullable()
    .default(null)
    .describe(
      `tokens per chunk (side of a square on a grid); null: numFeatures chunks, causal ${CAUSAL_CHUNK_SIZE} tokens`,
    ),
  gridWidth: size
    .nullable()
    .default(null)
    .describe('tokens are a grid of that many columns, with square windows and chunks'),
  localKeys: z
    .enum(['once', 'twice'])
    .default('once')
    .describe(
      'once: windows are widened to whole chunks, which leave the chunks seen; twice: keys of the window stay in their chunks, which overlap when windows do',
    ),
  count: z
    .enum(['log', 'none'])
    .default('log')
    .describe('log: a chunk counts once per key; none: as one key'),
  padding: z
    .enum(['none', 'zeros'])
    .default('none')
    .describe(
      'zeros: chunk means divide by the whole chunk, with zeros for absent tokens, and chunks of nothing take part',
    ),
  proposal: z
    .enum(['sum', 'average', 'zero'])
    .default('sum')
    .describe('mean of the proposal from the mean query and key of a chunk'),
  causalProposal: z
    .enum(['sum', 'average', 'zero'])
    .nullable()
    .default(null)
    .describe('proposal of the causal form; null: as proposal'),
  sampling: z
    .enum(['mean', 'sampled'])
    .default('mean')
    .describe('mean: the proposal mean stands for its sample, without noise'),
  noiseScale,
})
export type EvaOptions = z.output<typeof evaOptions>

/** How a call is cut: sizes in tokens, on a grid the sides of squares. */
export function partitionOptions(
  {length, numFeatures, causal}: {length: number; numFeatures: number; causal: boolean},
  options: EvaOptions,
): PartitionOptions {
  const {window, overlap, localKeys, padding} = options
  // causal windows reach back alone, so a whole one instead of a half on both sides
  const half = Math.max(1, Math.floor(window / 2))
  return {
    grid: gridOf(length, causal, options),
    window,
    chunkSize: chunkSizeOf({length, numFeatures, causal}, options),
    reach: overlap ? (causal ? window : half) : 0,
    causal,
    once: localKeys === 'once',
    wholeWindows: padding === 'zeros',
  }
}

function gridOf(
  length: number,
  causal: boolean,
  {gridWidth}: EvaOptions,
): readonly [number, number] {
  if (gridWidth === null) return [1, length]
  if (!causal && length % gridWidth === 0) return [length / gridWidth, gridWidth]
  const found = causal ? 'a causal call' : `${length} tokens`
  const what = `whole rows of ${gridWidth} tokens, not causal`
  throw expected('UNSUPPORTED', 'eva.gridWidth', what, found, 'leave gridWidth out')
}

/** Side of a chunk, so that there are at most `numFeatures` (with whole windows, rounded down). */
function chunkSizeOf(
  {length, numFeatures, causal}: {length: number; numFeatures: number; causal: boolean},
  {chunkSize, window, gridWidth, padding}: EvaOptions,
): number {
  if (chunkSize !== null) return chunkSize
  if (causal) return CAUSAL_CHUNK_SIZE
  // a chunk of a grid is a square
  const root = (tokens: number) => (gridWidth === null ? tokens : Math.sqrt(tokens))
  if (padding === 'none') return Math.ceil(root(Math.ceil(length / numFeatures)))
  const padded = gridWidth === null ? Math.ceil(length / window) * window : length
  return Math.max(1, Math.floor(root(Math.floor(padded / numFeatures))))
}

/** Windows and chunks of a call. */
export function evaPartition(
  call: {length: number; numFeatures: number; causal: boolean},
  options: EvaOptions,
): Partition {
  return partition(partitionOptions(call, options))
}

/** The proposal in force. */
export function proposalOf(options: EvaOptions, causal: boolean): 'sum' | 'average' | 'zero' {
  return (causal ? options.causalProposal : null) ?? options.proposal
}

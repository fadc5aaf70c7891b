import {describe, expected, unknownName} from '../../errors.js'
import type {AttentionInput} from '../attention-input.js'
import {assertMemory} from '../memory.js'
import {anisotropic} from './anisotropic.js'
import {ar1} from './ar1.js'
import {clustered} from './clustered.js'
import {gaussian} from './gaussian.js'
import {grid2d} from './grid2d.js'
import {peaky} from './peaky.js'
import type {Generator, GeneratorShape} from './types.js'
import {unit} from './unit.js'

export type {Generator, GeneratorShape} from './types.js'

/** Names of the generators, in the order that help and tables show them. */
export const GENERATOR_NAMES = [
  'gaussian',
  'unit',
  'ar1',
  'grid2d',
  'clustered',
  'peaky',
  'anisotropic',
] as const
export type GeneratorName = (typeof GENERATOR_NAMES)[number]

export const GENERATORS: Readonly<Record<GeneratorName, Generator>> = {
  gaussian,
  unit,
  ar1,
  grid2d,
  clustered,
  peaky,
  anisotropic,
}

/** Refuses arrays before they are made. @throws {TOO_LARGE} when they do not fit in memory */
export function assertRoom(name: string, shape: Omit<GeneratorShape, 'seed'>): void {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = shape
  const elements = batch * heads * (queryLen * headDim + keyLen * (headDim + valueDim))
  const remedy = 'lower `seqLen`, `batch`, `heads` or `headDim`'
  assertMemory(`generator ${name}`, Float32Array.BYTES_PER_ELEMENT * elements, remedy)
}

/**
 * Makes a synthetic input. The same name, shape and seed give the same bytes on one backend, on any number of threads,
 * and the same numbers to the rounding of float32 on another; batches and heads are independent draws.
 *
 * @param name - one of {@link GENERATOR_NAMES}
 * @param shape - all lengths at least 1
 * @throws {UNKNOWN_NAME} for another name
 * @throws {BAD_OPTION} when a length is not a positive integer or the seed not a non-negative one
 * @throws {TOO_LARGE} when the arrays do not fit in memory
 */
export function generate(name: string, shape: GeneratorShape): AttentionInput {
  // own names only: `constructor` is not a generator
  const generator = Object.hasOwn(GENERATORS, name) ? GENERATORS[name as GeneratorName] : undefined
  if (generator === undefined) throw unknownName('`generator`', 'generators', name, GENERATOR_NAMES)
  for (const [axis, value] of Object.entries(shape)) {
    const least = axis === 'seed' ? 0 : 1
    if (!Number.isSafeInteger(value) || value < least) {
      const where = `generator ${name}, ${axis}`
      throw expected('BAD_OPTION', where, `an integer of at least ${least}`, describe(value))
    }
  }
  assertRoom(name, shape)
  const parameters = {seed: shape.seed, ...generator.parameters}
  const metadata = Object.entries(parameters).map(([key, value]) => [key, String(value)])
  return {
    label: name,
    ...generator.generate(shape),
    extras: new Map(),
    metadata: {generator: name, ...Object.fromEntries(metadata)},
  }
}

/** Estimators registered in addition to the built-in ones. */
import type {z} from 'zod'
import {describe, expected} from '../../errors.js'
import {tf} from '../../tf.js'
import {checkTensor, hasShape} from '../check-tensor.js'
import {addEstimator, assertNameFree} from '../estimators/index.js'
import type {AttendInputs, Estimator} from '../forms/estimator.js'
import type {RegisteredName} from '../registered.js'
import type {AttendResult, Decoder} from '../types.js'
import {defineFeatureMap} from './define.js'
import {checkFacts} from './facts.js'
import {inPart} from './faults.js'

/** What has been registered, by what was given: the same once more changes nothing. */
const known = new Map<unknown, RegisteredName>()

/**
 * Adds an estimator of your own to the registry: `attention`, `decoder` and all that goes by names takes its name from
 * then on.
 *
 * ```ts
 * const method = registerEstimator(defineFeatureMap({name: 'my-map', ...}))
 * attention(query, key, value, {method, numFeatures: 64}) // or method: 'my-map', see RegisteredMethods
 * ```
 *
 * @param estimator - from {@link defineFeatureMap} or {@link defineEstimator}; the facts alone will do. One that is
 *   registered already changes nothing.
 * @returns its name, which for TypeScript carries the types of its options
 * @throws {BAD_PLUGIN} for missing or wrong facts, options that every method has, and a name that is taken
 */
export function registerEstimator<Schema extends z.ZodObject>(
  estimator: Estimator<Schema>,
): RegisteredName<Schema> {
  const before = known.get(estimator)
  if (before) return before as RegisteredName<Schema>
  const whole = wholeEstimator(estimator)
  addEstimator(watched(whole))
  const name = whole.name as RegisteredName<Schema>
  known.set(estimator, name as RegisteredName)
  return name
}

/** Adds several estimators, or none of them where the name of one is taken. */
export function registerEstimators(estimators: readonly Estimator[]): void {
  for (const estimator of estimators) if (!known.has(estimator)) assertNameFree(estimator.name)
  for (const estimator of estimators) registerEstimator(estimator)
}

/** An estimator from anything that claims to be one. @throws {BAD_PLUGIN} */
export function wholeEstimator(given: unknown): Estimator {
  if (given instanceof Promise) {
    const remedy = 'wait for it: export default await ...'
    throw expected('BAD_PLUGIN', 'estimator', 'an estimator', 'a promise of one', remedy)
  }
  if (typeof given !== 'object' || given === null) {
    const remedy = 'make it with defineFeatureMap({...}) or defineEstimator({...})'
    throw expected('BAD_PLUGIN', 'estimator', 'an estimator', describe(given), remedy)
  }
  const whole = 'attend' in given ? given : defineFeatureMap(given as never)
  checkFacts(whole)
  return whole
}

/** The same estimator; its errors name it and the author's line. */
function watched(estimator: Estimator): Estimator {
  const {name, kernel, projection, attend, decoder} = estimator
  const facts = watchedFunctions(name, estimator)
  return {
    ...facts,
    attend: inputs => inPart(`${name}: attend`, () => checkedResult(name, attend(inputs), inputs)),
    ...(kernel && {kernel: watchedFunctions(`${name}: kernel`, kernel)}),
    ...(projection && {projection: watchedFunctions(`${name}: projection`, projection)}),
    ...(decoder && {
      decoder: inputs =>
        watchedDecoder(
          name,
          inPart(`${name}: decoder`, () => decoder(inputs)),
        ),
    }),
  }
}

/** An object with its functions behind {@link inPart}. */
function watchedFunctions<Facts extends object>(where: string, facts: Facts): Facts {
  const separator = where.includes(':') ? '.' : ': '
  const entries = Object.entries(facts).map(([fact, value]) => {
    if (typeof value !== 'function') return [fact, value]
    const call = (...args: unknown[]) =>
      inPart(`${where}${separator}${fact}`, () => value.apply(facts, args))
    return [fact, call]
  })
  return Object.fromEntries(entries)
}

function watchedDecoder(name: string, inner: Decoder): Decoder {
  // each part is called as a method of its object: classes may keep private fields
  return {
    next: (...args) => inPart(`${name}: decoder.next`, () => inner.next(...args)),
    get stateBytes() {
      return inner.stateBytes
    },
    get state() {
      return inner.state
    },
    dispose: () => inner.dispose(),
  }
}

/** @throws {BAD_PLUGIN | SHAPE_MISMATCH} unless there is an output `[B, H, L, Dv]` */
function checkedResult(
  name: string,
  result: AttendResult,
  {query, value}: Pick<AttendInputs, 'query' | 'value'>,
): AttendResult {
  const [batch, heads, length] = query.shape
  const shape = [batch, heads, length, value.shape[3]]
  const out: unknown = result?.out
  if (!(out instanceof tf.Tensor)) {
    const got = result instanceof tf.Tensor ? 'a tensor' : describe(result)
    const remedy = `return {out}, out being [B, H, L, Dv]`
    throw expected('BAD_PLUGIN', `${name}: attend`, `{out: ${describe(shape)}}`, got, remedy)
  }
  checkTensor(`${name}: attend`, out)
  if (hasShape(out.shape, shape)) return result
  throw expected('SHAPE_MISMATCH', `${name}: attend`, `out ${describe(shape)}`, describe(out.shape))
}

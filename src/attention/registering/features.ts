/** What phi of somebody else's feature map returns, looked at before anything is made of it. */
import {describe, expected, type RfaError} from '../../errors.js'
import {tf} from '../../tf.js'
import {checkElements, hasShape} from '../check-tensor.js'
import type {ScaledFeatures, TokenMap} from '../forms/decoders/tokens.js'
import type {Phi} from '../forms/feature-map.js'
import {hostData} from '../host-data.js'
import {checkRecipe} from '../kernels/feature-checks.js'
import {inPart} from './faults.js'

/** The estimator, and the expected length of its features. */
export interface FeatureWish {
  name: string
  /** F; `undefined` where it is not known. */
  featureDim: number | undefined
  /** Sides with values that were checked since the last {@link lookAgain}. */
  seen: Set<string>
}

let round = {}

/**
 * Makes the next call check the values of features again. It is called before a cell, so that the first call finds
 * features that are not numbers. Later calls, which may be timed, only check shapes.
 */
export function lookAgain(): void {
  round = {}
}

/** What has been looked at, emptied by {@link lookAgain}. */
export function sightings(): () => Set<string> {
  let [seen, of] = [new Set<string>(), round]
  return () => {
    if (of !== round) [seen, of] = [new Set(), round]
    return seen
  }
}

const WAYS =
  'a function of tokens, a recipe ({kind, ...}), {query, key}, {scaled} or {logarithms, bridges}'

/**
 * Features behind checks: every map is asked for `[B, H, n, F]` in float32, without NaN where tokens are numbers.
 * Recipes stay as they are, so that fused kernels follow them.
 *
 * @throws {BAD_PLUGIN} for anything but a {@link Phi}
 */
export function checkedPhi(phi: unknown, wish: FeatureWish): Phi {
  if (typeof phi === 'function' || isRecord(phi)) {
    if (typeof phi === 'function') return checkedMap(phi as TokenMap, 'tokens', wish)
    if ('kind' in phi || 'scaled' in phi) return checkedMap(phi as unknown as Phi, 'tokens', wish)
    if ('logarithms' in phi) return checkedLogarithms(phi, wish)
    if ('query' in phi && 'key' in phi) return checkedSides(phi, wish)
  }
  throw expected('BAD_PLUGIN', `${wish.name}: phi`, WAYS, ...came(phi))
}

function checkedSides(phi: Record<string, unknown>, wish: FeatureWish): Phi {
  const {query, key, keyLogWeight} = phi
  for (const [side, map] of Object.entries({query, key})) {
    if (typeof map === 'function' || (isRecord(map) && ('kind' in map || 'scaled' in map))) continue
    const what = 'a function of tokens, a recipe or {scaled}'
    throw expected('BAD_PLUGIN', `${wish.name}: phi.${side}`, what, ...came(map))
  }
  return {
    ...phi,
    query: checkedMap(query as TokenMap, 'query', wish),
    key: checkedMap(key as TokenMap, 'key', wish),
    ...(typeof keyLogWeight === 'function' && {
      keyLogWeight: (tokens: tf.Tensor4D) => {
        const where = `${wish.name}: keyLogWeight`
        const weights = inPart(where, () => keyLogWeight(tokens))
        return checkedTensor(where, weights, tokens.shape.slice(0, 3)) as tf.Tensor3D
      },
    }),
  } as unknown as Phi
}

function checkedLogarithms(phi: Record<string, unknown>, wish: FeatureWish): Phi {
  const {logarithms, bridges} = phi
  if (typeof bridges !== 'function') {
    throw expected('BAD_PLUGIN', `${wish.name}: phi.bridges`, 'a function', ...came(bridges))
  }
  return {
    logarithms: checkedMap(logarithms as TokenMap, 'logarithms', wish),
    bridges: () =>
      checkedBridges(
        inPart(`${wish.name}: phi.bridges`, () => bridges()),
        wish,
      ),
  }
}

/** Vectors b, `[F, D]` or `[H, F, D]`. */
function checkedBridges(bridges: unknown, {name, featureDim}: FeatureWish): tf.Tensor {
  const where = `${name}: phi.bridges`
  const given = bridges as Partial<tf.Tensor> | undefined
  const {shape = []} = given instanceof tf.Tensor ? given : {}
  const wanted = [...shape.slice(0, -2), featureDim ?? shape.at(-2) ?? 0, shape.at(-1) ?? 0]
  return checkedTensor(where, bridges, wanted, ['F', 'D'])
}

type Side = 'tokens' | 'query' | 'key' | 'logarithms'

function checkedMap<Map extends object>(map: Map, side: Side, wish: FeatureWish): Map {
  const where = side === 'tokens' ? `${wish.name}: phi` : `${wish.name}: phi.${side}`
  if ('kind' in map) {
    inPart(where, () => checkRecipe('recipe', map as never, 'any'))
    return map
  }
  if ('scaled' in map) {
    const {scaled} = map as {scaled: (tokens: tf.Tensor4D) => ScaledFeatures}
    return {
      ...map,
      scaled(tokens: tf.Tensor4D) {
        const found = inPart(where, () => scaled(tokens))
        if (!isRecord(found)) {
          throw expected('BAD_PLUGIN', where, '{features, logScale}', ...came(found))
        }
        const {features, logScale} = found
        checkedTensor(`${where} logScale`, logScale, tokens.shape.slice(0, 3))
        return {features: checkedFeatures(where, features, tokens, side, wish), logScale}
      },
    }
  }
  const form = map as unknown as (tokens: tf.Tensor4D) => unknown
  const checked = (tokens: tf.Tensor4D) =>
    checkedFeatures(
      where,
      inPart(where, () => form(tokens)),
      tokens,
      side,
      wish,
    )
  return checked as unknown as Map
}

function checkedFeatures(
  where: string,
  features: unknown,
  tokens: tf.Tensor4D,
  side: Side,
  {featureDim, seen}: FeatureWish,
): tf.Tensor4D {
  const [batch, heads, count] = tokens.shape
  const wanted = [batch, heads, count, featureDim ?? (features as tf.Tensor)?.shape?.at(-1) ?? 0]
  const checked = checkedTensor(where, features, wanted) as tf.Tensor4D
  if (!seen.has(side)) {
    seen.add(side)
    checkValues(where, checked, tokens, side === 'logarithms')
  }
  return checked
}

function checkedTensor(
  where: string,
  given: unknown,
  shape: readonly number[],
  axes: readonly string[] = AXES,
): tf.Tensor {
  if (!(given instanceof tf.Tensor)) {
    throw expected('BAD_PLUGIN', where, `a tensor ${describe([...shape])}`, ...came(given))
  }
  checkElements(where, given)
  if (hasShape(given.shape, shape)) return given
  throw shapeMismatch(where, shape, given.shape, axes)
}

/** What came in place of features, and what may be the reason. */
function came(given: unknown): [string, ...string[]] {
  if (given instanceof Promise) return ['a promise', 'write it without async: maps answer at once']
  if (given === undefined) return ['undefined', 'is there a return missing?']
  if (given instanceof tf.Tensor) {
    return [`a tensor ${describe(given.shape)}`, 'return a function: tokens => features of them']
  }
  return [describe(given)]
}

const AXES = ['B', 'H', 'n', 'F']

function shapeMismatch(
  where: string,
  wanted: readonly number[],
  got: readonly number[],
  axes: readonly string[],
): RfaError {
  const names = axes.slice(0, wanted.length)
  const lengthOnly = wanted.length === got.length && wanted.every((n, i) => i === 3 || n === got[i])
  return expected(
    'SHAPE_MISMATCH',
    where,
    `a tensor [${names.join(', ')}] = ${describe([...wanted])}`,
    describe([...got]),
    ...(lengthOnly && wanted.length === 4
      ? [`let featureDim give ${got[3]}, or phi ${wanted[3]} features`]
      : []),
  )
}

/** @throws {NOT_FINITE} for features of finite tokens that are not finite; logarithms may be -Infinity */
function checkValues(
  where: string,
  features: tf.Tensor4D,
  tokens: tf.Tensor4D,
  logarithms: boolean,
): void {
  // a sum shows whether to read all of them, which memory may not hold twice
  const sum = hostData(() => ({sum: tf.sum(features)})).sum[0]!
  if (Number.isFinite(sum) || (logarithms && sum === Number.NEGATIVE_INFINITY)) return
  const {x, phi} = hostData(() => ({x: tokens, phi: features}))
  const [columns, length] = [tokens.shape[3], features.shape[3]]
  const wrong = (value: number) =>
    !(Number.isFinite(value) || (logarithms && value === Number.NEGATIVE_INFINITY))
  let count = 0
  let first = -1
  for (let i = 0; i < phi.length; i++) {
    if (!wrong(phi[i]!)) continue
    const row = Math.floor(i / length)
    if (!x.subarray(row * columns, (row + 1) * columns).every(Number.isFinite)) continue
    count++
    if (first < 0) first = i
  }
  if (count === 0) return
  const [, heads, tokenCount] = features.shape
  const row = Math.floor(first / length)
  const token = row % tokenCount
  const head = Math.floor(row / tokenCount) % heads
  const norm = Math.hypot(...x.subarray(row * columns, (row + 1) * columns))
  const got = `${phi[first]} (${count} of ${phi.length} are not finite; the first is feature ${first % length} of token ${token}, head ${head}; the token has norm ${norm.toPrecision(3)})`
  const remedy =
    'look for logarithms or roots of what can be negative, 0/0, and exp of large numbers'
  throw expected('NOT_FINITE', where, 'finite features', got, remedy)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof tf.Tensor)
}
